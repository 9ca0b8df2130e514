#include "src/platform/net/tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <climits>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/tls/context_impl.h"
#include "src/platform/net/tls/memory_bio.h"
#include "src/platform/net/tls/protocols.h"

namespace kgpu::tls {
namespace {

constexpr size_t kMaxPemFile = size_t{4} << 20;
constexpr size_t kMaxCertificates = 2000;

StatusOr<BioPtr> ReaderOf(std::string_view pem) {
  if (pem.size() > kMaxPemFile) {
    return InvalidArgument("exceeds {} bytes", kMaxPemFile);
  }
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) {
    return ResourceExhausted("out of memory for a certificate");
  }
  return bio;
}

// No passphrase: nobody can be asked for one.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return 0;
}

// Why PEM cannot be read, without quoting it. `label` is that of its first line.
Status BadPem(std::string_view pem, std::string_view label) {
  ERR_clear_error();
  const bool is_there = pem.find("-----BEGIN ") != pem.npos && pem.find(label) != pem.npos;
  return InvalidArgument(
      "{} {}", is_there ? "cannot be read: corrupt PEM in its" : "contains no PEM", label);
}

StatusOr<std::vector<X509Ptr>> CertificatesOf(std::string_view pem) {
  ASSIGN_OR_RETURN(const BioPtr bio, ReaderOf(pem));
  ERR_clear_error();
  std::vector<X509Ptr> certificates;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
    if (certificates.size() > kMaxCertificates) {
      return InvalidArgument("contains more than {} certificates", kMaxCertificates);
    }
  }
  // The end of the text is an error, too, in OpenSSL's eyes.
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !is_end) {
    return BadPem(pem, "CERTIFICATE");
  }
  ERR_clear_error();
  return certificates;
}

StatusOr<KeyPtr> PrivateKeyOf(std::string_view pem) {
  ASSIGN_OR_RETURN(const BioPtr bio, ReaderOf(pem));
  ERR_clear_error();
  bool was_asked = false;
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassphrase, &was_asked));
  if (key == nullptr && was_asked) {
    ERR_clear_error();
    return InvalidArgument("has a passphrase: use a key without one");
  }
  if (key == nullptr) {
    return BadPem(pem, "PRIVATE KEY");
  }
  return key;
}

Status Trust(SSL_CTX* ssl, std::string_view ca_pem) {
  ASSIGN_OR_RETURN(const std::vector<X509Ptr> authorities, CertificatesOf(ca_pem));
  X509_STORE* store = SSL_CTX_get_cert_store(ssl);
  for (const X509Ptr& authority : authorities) {
    // One that is there twice is no error.
    (void)X509_STORE_add_cert(store, authority.get());
  }
  // An authority that is not self-signed is trusted as well: who gave it said so.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return OkStatus();
}

Status Identify(SSL_CTX* ssl, std::string_view certificate_pem, std::string_view key_pem) {
  StatusOr<std::vector<X509Ptr>> chain = CertificatesOf(certificate_pem);
  if (!chain.ok()) {
    return Annotate(chain.status(), "the certificate");
  }
  StatusOr<KeyPtr> key = PrivateKeyOf(key_pem);
  if (!key.ok()) {
    return Annotate(key.status(), "the private key");
  }
  if (SSL_CTX_use_certificate(ssl, chain->front().get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the certificate cannot be used for TLS");
  }
  for (size_t i = 1; i < chain->size(); ++i) {
    (void)SSL_CTX_add1_chain_cert(ssl, chain->at(i).get());
  }
  if (SSL_CTX_use_PrivateKey(ssl, key->get()) != 1 || SSL_CTX_check_private_key(ssl) != 1) {
    ERR_clear_error();
    return InvalidArgument("the private key does not belong to the certificate");
  }
  return OkStatus();
}

StatusOr<SslCtxPtr> NewContext(const SSL_METHOD* method) {
  // No configuration file of the host changes what is written here.
  (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  SslCtxPtr ssl(SSL_CTX_new(method));
  if (ssl == nullptr || SSL_CTX_set_min_proto_version(ssl.get(), TLS1_2_VERSION) != 1) {
    ERR_clear_error();
    return Internal("cannot create a TLS context");
  }
  SSL_CTX_set_options(ssl.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Buffers of idle connections go: 34 kB each.
  SSL_CTX_set_mode(ssl.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(ssl.get(), SSL_SESS_CACHE_OFF);
  return ssl;
}

}  // namespace

StatusOr<std::shared_ptr<const Context>> Context::ForClient(const ClientOptions& options) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->ssl, NewContext(TLS_client_method()));
  SSL_CTX_set_verify(impl->ssl.get(), SSL_VERIFY_PEER, nullptr);
  if (const Status status = Trust(impl->ssl.get(), options.ca_pem); !status.ok()) {
    return Annotate(status, "the certificate authority");
  }
  if (!options.certificate_pem.empty() || !options.key_pem.empty()) {
    RETURN_IF_ERROR(Identify(impl->ssl.get(), options.certificate_pem, options.key_pem));
  }
  ASSIGN_OR_RETURN(impl->bio, NewMemoryBioMethod());
  return std::shared_ptr<const Context>(new Context(std::move(impl)));
}

StatusOr<std::shared_ptr<const Context>> Context::ForServer(const ServerOptions& options) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->ssl, NewContext(TLS_server_method()));
  RETURN_IF_ERROR(Identify(impl->ssl.get(), options.certificate_pem, options.key_pem));
  if (!options.client_ca_pem.empty()) {
    if (const Status status = Trust(impl->ssl.get(), options.client_ca_pem); !status.ok()) {
      return Annotate(status, "the clients' certificate authority");
    }
    SSL_CTX_set_verify(
        impl->ssl.get(),
        SSL_VERIFY_PEER | (options.is_client_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
        nullptr);
  }
  AnswerOffers(impl->ssl.get());
  // Sessions are never resumed: tickets would only be work.
  (void)SSL_CTX_set_num_tickets(impl->ssl.get(), 0);
  SSL_CTX_set_options(impl->ssl.get(), SSL_OP_NO_TICKET);
  ASSIGN_OR_RETURN(impl->bio, NewMemoryBioMethod());
  return std::shared_ptr<const Context>(new Context(std::move(impl)));
}

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}
Context::~Context() = default;

}  // namespace kgpu::tls
