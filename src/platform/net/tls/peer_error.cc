#include "src/platform/net/tls/peer_error.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>
#include <ctime>
#include <string_view>

#include "src/platform/base/strings.h"

namespace kgpu::tls {
namespace {

std::string DateOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
    return "?";
  }
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string SubjectOf(const X509* certificate) {
  std::array<char, 256> text{};
  (void)X509_NAME_oneline(X509_get_subject_name(certificate), text.data(),
                          static_cast<int>(text.size()));
  return Printable(text.data());
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(bytes);
  if (size != 4 && size != 16) {
    return "?";
  }
  (void)inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(),
                  text.size());
  return text.data();
}

// "n1, n2, …" for an error.
std::string NamesText(const X509* certificate) {
  constexpr size_t kMaxNames = 8;
  std::vector<std::string> names = AlternativeNames(certificate);
  if (names.size() > kMaxNames) {
    names.resize(kMaxNames);
    names.emplace_back("…");
  }
  return names.empty() ? "no names (the common name is ignored)" : Join(names, ", ");
}

// `at` is the certificate of the chain that is refused, `leaf` the peer's own.
// Source: openssl-verification-options(1), X509_STORE_CTX_get_error(3).
Status VerificationError(int code, const X509* at, const X509* leaf,
                         const std::string& server_name) {
  const std::string whose = server_name.empty() ? "the client's" : "the server's";
  if (at == nullptr || leaf == nullptr) {
    return FailedPrecondition("{} certificate: {}", whose, X509_verify_cert_error_string(code));
  }
  const std::string subject = SubjectOf(at);
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return FailedPrecondition(
          "{} certificate, or one of its issuers ({}), has expired {}: renew it, and check this "
          "host's clock",
          whose, subject, DateOf(X509_get0_notAfter(at)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return FailedPrecondition(
          "{} certificate ({}) is not valid before {}: check this host's clock", whose, subject,
          DateOf(X509_get0_notBefore(at)));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return FailedPrecondition(
          "{} certificate is not for {}, but for {}: use one of these, or set tls-server-name to "
          "one",
          whose, server_name, NamesText(leaf));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return FailedPrecondition(
          "{} certificate ({}) is from an untrusted authority: set the right certificate-authority",
          whose, SubjectOf(leaf));
    default:
      return FailedPrecondition("{} certificate ({}) is not trusted: {}", whose, subject,
                                X509_verify_cert_error_string(code));
  }
}

// The alert that the other side sent when it hung up. Source: RFC 8446, section 6.2.
Status AlertError(int reason) {
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return FailedPrecondition(
          "the peer closed the connection during the handshake: it may require a client "
          "certificate, or has no cipher in common");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return FailedPrecondition("the peer reports that our certificate has expired: renew it");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return FailedPrecondition(
          "the peer does not trust our certificate: use one of an authority that it trusts");
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
      return FailedPrecondition("the peer does not support TLS 1.2 or later");
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
      return FailedPrecondition("the peer does not know the requested server name");
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return FailedPrecondition(
          "the peer speaks none of the protocols that we offer inside TLS (ALPN)");
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return Unavailable("the peer speaks HTTP without TLS");
    case SSL_R_WRONG_VERSION_NUMBER:
      return Unavailable("the peer does not speak TLS: check whether it serves plain HTTP there");
    default:
      return OkStatus();
  }
}

// OpenSSL forgets the certificate that it rejects: it is described here.
int OnVerification(int is_ok, X509_STORE_CTX* store) {
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* verification = static_cast<Verification*>(SSL_get_app_data(ssl));
  if (is_ok != 1 && verification->verdict.ok()) {
    verification->verdict =
        VerificationError(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store),
                          X509_STORE_CTX_get0_cert(store), verification->server_name);
  }
  return is_ok;
}

}  // namespace

std::vector<std::string> AlternativeNames(const X509* certificate) {
  std::vector<std::string> texts;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type == GEN_DNS) {
      const auto* text = static_cast<const ASN1_STRING*>(value);
      texts.push_back(Printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                                 static_cast<size_t>(ASN1_STRING_length(text))}));
    } else if (type == GEN_IPADD) {
      texts.push_back(AddressOf(static_cast<const ASN1_OCTET_STRING*>(value)));
    }
  }
  return texts;
}

void WatchVerification(SSL* ssl, Verification& verification) {
  SSL_set_app_data(ssl, &verification);
  SSL_set_verify(ssl, SSL_get_verify_mode(ssl), &OnVerification);
}

Status SessionError(const Verification& verification) {
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  const char* text = ERR_reason_error_string(error);
  ERR_clear_error();
  if (!verification.verdict.ok()) {
    return verification.verdict;
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return FailedPrecondition("the client sent no certificate, which is required");
  }
  if (Status status = AlertError(reason); !status.ok()) {
    return status;
  }
  return Unavailable("the TLS connection failed: {}", text == nullptr ? "unknown reason" : text);
}

}  // namespace kgpu::tls
