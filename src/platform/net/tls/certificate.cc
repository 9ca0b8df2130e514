#include "src/platform/net/tls/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "src/platform/base/time_text.h"
#include "src/platform/net/tls/openssl.h"

namespace kgpu::tls {
namespace {

constexpr size_t kMaxPem = size_t{1} << 20;

}  // namespace

StatusOr<WallTime> EndOfCertificate(std::string_view pem) {
  if (pem.size() > kMaxPem) {
    return InvalidArgument("exceeds {} bytes", kMaxPem);
  }
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) {
    return ResourceExhausted("out of memory for a certificate");
  }
  ERR_clear_error();
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return InvalidArgument("contains no readable PEM CERTIFICATE");
  }
  std::tm date = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &date) != 1) {
    return InvalidArgument("the certificate has no expiry date");
  }
  // Many certificates end in the year 9999.
  return TimeAt(std::chrono::seconds(::timegm(&date)));
}

}  // namespace kgpu::tls
