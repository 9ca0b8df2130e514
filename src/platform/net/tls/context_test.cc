#include "src/platform/net/tls/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::tls {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsContextTest : public ::testing::Test {
 protected:
  const TestAuthority authority_;
  const TestCertificate client_ = authority_.Issue({.is_client = true});
  const std::string ca_ = authority_.certificate_pem();
};

TEST_F(TlsContextTest, TakesAuthoritiesAndACertificate) {
  EXPECT_OK(Context::ForClient({.ca_pem = ca_}));
  EXPECT_OK(Context::ForClient({.ca_pem = "some words\n" + ca_ + ca_}));
  EXPECT_OK(Context::ForClient({.ca_pem = ca_,
                                .certificate_pem = client_.certificate_pem + ca_,
                                .key_pem = client_.key_pem}));
  EXPECT_OK(
      Context::ForServer({.certificate_pem = client_.certificate_pem, .key_pem = client_.key_pem}));
}

TEST_F(TlsContextTest, CertificateAndKeyMayBeInOneFile) {
  // As the kubelet keeps them: kubelet-client-current.pem.
  for (const std::string& both : {client_.certificate_pem + client_.key_pem,
                                  client_.key_pem + client_.certificate_pem + ca_}) {
    EXPECT_OK(Context::ForClient({.ca_pem = ca_, .certificate_pem = both, .key_pem = both}));
  }
}

TEST_F(TlsContextTest, SaysWhatIsWrongWithAnAuthority) {
  EXPECT_THAT(Context::ForClient({.ca_pem = ""}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the certificate authority: contains no PEM CERTIFICATE")));
  EXPECT_THAT(Context::ForClient({.ca_pem = client_.key_pem}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("contains no PEM CERTIFICATE")));
  std::string torn = ca_;
  torn.replace(60, 4, "!!!!");
  EXPECT_THAT(Context::ForClient({.ca_pem = torn}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Context::ForClient({.ca_pem = ca_ + torn}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Context::ForClient({.ca_pem = std::string(5 << 20, 'x')}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exceeds 4194304 bytes")));
}

TEST_F(TlsContextTest, SaysWhatIsWrongWithACertificateOrItsKey) {
  const auto make = [&](const std::string& certificate, const std::string& key) {
    return Context::ForClient({.ca_pem = ca_, .certificate_pem = certificate, .key_pem = key});
  };
  EXPECT_THAT(make("", client_.key_pem),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the certificate: contains no PEM CERTIFICATE")));
  EXPECT_THAT(make(client_.certificate_pem, ""),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the private key: contains no PEM PRIVATE KEY")));
  EXPECT_THAT(make(client_.certificate_pem, authority_.Issue({}).key_pem),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not belong")));
  EXPECT_THAT(make(client_.certificate_pem, TestEncryptedKey()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has a passphrase")));
}

TEST_F(TlsContextTest, AnErrorHoldsNothingOfAKey) {
  std::string key = client_.key_pem;
  key.replace(60, 4, "!!!!");
  EXPECT_THAT(Context::ForClient(
                  {.ca_pem = ca_, .certificate_pem = client_.certificate_pem, .key_pem = key}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("cannot be read"), Not(HasSubstr(key.substr(40, 10))))));
}

}  // namespace
}  // namespace kgpu::tls
