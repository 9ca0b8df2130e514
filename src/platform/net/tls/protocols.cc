#include "src/platform/net/tls/protocols.h"

namespace kgpu::tls {
namespace {

constexpr size_t kMaxName = 255;

// Where an SSL refers to its list.
int ListIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

const unsigned char* BytesOf(const std::string& list) {
  return reinterpret_cast<const unsigned char*>(list.data());
}

int OnOffer(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
            const unsigned char* offered, unsigned int offered_size, void* /*context*/) {
  const auto* list = static_cast<const std::string*>(SSL_get_ex_data(ssl, ListIndex()));
  if (list == nullptr || list->empty()) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  // The result points into one of both lists, which OpenSSL does not write to.
  unsigned char* name = nullptr;
  const int result =
      SSL_select_next_proto(&name, chosen_size, BytesOf(*list),
                            static_cast<unsigned int>(list->size()), offered, offered_size);
  *chosen = name;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

StatusOr<std::string> ProtocolList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxName) {
      return InvalidArgument("a protocol's name has {} bytes: it must have 1 to {}", name.size(),
                             kMaxName);
    }
    list += static_cast<char>(name.size());
    list += name;
  }
  return list;
}

void AnswerOffers(SSL_CTX* context) {
  SSL_CTX_set_alpn_select_cb(context, &OnOffer, nullptr);
}

void AcceptProtocols(SSL* ssl, const std::string& list) {
  // OpenSSL's interface is not const; OnOffer only reads the list.
  (void)SSL_set_ex_data(ssl, ListIndex(), const_cast<std::string*>(&list));
}

Status OfferProtocols(SSL* ssl, const std::string& list) {
  // 0 means success here.
  if (SSL_set_alpn_protos(ssl, BytesOf(list), static_cast<unsigned int>(list.size())) != 0) {
    return ResourceExhausted("out of memory for a TLS connection");
  }
  return OkStatus();
}

std::string AgreedProtocol(const SSL* ssl) {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &name, &size);
  return name == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(name), size);
}

}  // namespace kgpu::tls
