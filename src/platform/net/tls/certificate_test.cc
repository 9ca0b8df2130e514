#include "src/platform/net/tls/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/platform/base/time_text.h"
#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::tls {
namespace {

using ::testing::HasSubstr;

TEST(EndOfCertificateTest, IsTheDateInIt) {
  const WallTime before = RealClock().WallNow();
  const TestAuthority authority;
  const auto end = EndOfCertificate(
      "words of subscription-manager\n" +
      authority.Issue({.valid_until = std::chrono::hours(24 * 365 * 30)}).certificate_pem);
  ASSERT_OK(end);
  EXPECT_GE(*end, before + std::chrono::hours(24 * 365 * 30) - std::chrono::seconds(1));
  EXPECT_LE(*end,
            RealClock().WallNow() + std::chrono::hours(24 * 365 * 30) + std::chrono::seconds(1));
}

// RFC 5280 gives that date to certificates without an end.
TEST(EndOfCertificateTest, AfterAClocksLastTimeItIsThatTime) {
  const TestAuthority authority;
  EXPECT_THAT(
      EndOfCertificate(authority.Issue({.valid_until = std::chrono::years(7'900)}).certificate_pem),
      IsOkAndHolds(kLastTime));
}

TEST(EndOfCertificateTest, OneThatHasEndedHasADateToo) {
  const TestAuthority authority;
  const auto end = EndOfCertificate(
      authority
          .Issue({.valid_from = std::chrono::hours(-48), .valid_until = std::chrono::hours(-24)})
          .certificate_pem);
  ASSERT_OK(end);
  EXPECT_LT(*end, RealClock().WallNow());
}

TEST(EndOfCertificateTest, SaysWhatIsNone) {
  const TestAuthority authority;
  for (const std::string& text :
       {std::string(), std::string("no PEM"), authority.Issue({}).key_pem}) {
    EXPECT_THAT(EndOfCertificate(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no readable PEM CERTIFICATE")));
  }
  std::string torn = authority.certificate_pem();
  torn.replace(60, 4, "!!!!");
  EXPECT_THAT(EndOfCertificate(torn), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(EndOfCertificate(std::string((1 << 20) + 1, 'x')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exceeds 1048576 bytes")));
}

}  // namespace
}  // namespace kgpu::tls
