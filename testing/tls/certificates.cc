#include "testing/tls/certificates.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace kgpu {
namespace {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

// A test without certificates has nothing to test.
void Must(bool is_done) {
  if (!is_done) {
    std::abort();
  }
}

Key NewKey() {
  Key key(EVP_EC_gen("P-256"));
  Must(key != nullptr);
  return key;
}

std::string TextOf(const Bio& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  Must(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return TextOf(bio);
}

std::string PemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  Must(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TextOf(bio);
}

void AddName(X509* certificate, const char* field, const std::string& text) {
  Must(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(text.data()),
                                  static_cast<int>(text.size()), -1, 0) == 1);
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  Must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

Certificate NewCertificate(EVP_PKEY* key, std::chrono::seconds from, std::chrono::seconds until) {
  Certificate certificate(X509_new());
  Must(certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  uint64_t serial = 0;
  Must(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1U);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until.count());
  Must(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string AlternativeNamesOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", IsAddress(name) ? "IP" : "DNS", name);
  }
  return text;
}

}  // namespace

struct TestAuthority::Impl {
  Key key;
  Certificate certificate;
  std::string pem;
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key = NewKey();
  impl_->certificate =
      NewCertificate(impl_->key.get(), std::chrono::hours(-48), std::chrono::hours(480));
  X509* certificate = impl_->certificate.get();
  AddName(certificate, "CN", name);
  Must(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1);
  AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(certificate, certificate, NID_subject_key_identifier, "hash");
  Must(X509_sign(certificate, impl_->key.get(), EVP_sha256()) > 0);
  impl_->pem = PemOf(certificate);
}

TestAuthority::~TestAuthority() = default;
TestAuthority::TestAuthority(TestAuthority&&) noexcept = default;

const std::string& TestAuthority::certificate_pem() const {
  return impl_->pem;
}

TestCertificate TestAuthority::Issue(const LeafOptions& options) const {
  const Key key = NewKey();
  const Certificate leaf = NewCertificate(key.get(), options.valid_from, options.valid_until);
  X509* issuer = impl_->certificate.get();
  for (const std::string& organization : options.organizations) {
    AddName(leaf.get(), "O", organization);
  }
  AddName(leaf.get(), "CN", options.common_name);
  Must(X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer)) == 1);
  AddExtension(leaf.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(leaf.get(), issuer, NID_ext_key_usage,
               options.is_client ? "clientAuth" : "serverAuth");
  if (!options.names.empty()) {
    AddExtension(leaf.get(), issuer, NID_subject_alt_name, AlternativeNamesOf(options.names));
  }
  Must(X509_sign(leaf.get(), impl_->key.get(), EVP_sha256()) > 0);
  return {.certificate_pem = PemOf(leaf.get()), .key_pem = PemOf(key.get())};
}

std::string TestEncryptedKey() {
  const Key key = NewKey();
  const Bio bio(BIO_new(BIO_s_mem()));
  constexpr std::string_view kPassphrase = "passphrase";
  Must(PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), kPassphrase.data(),
                                     static_cast<int>(kPassphrase.size()), nullptr, nullptr) == 1);
  return TextOf(bio);
}

}  // namespace kgpu
