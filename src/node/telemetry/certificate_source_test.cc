#include "src/node/telemetry/certificate_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_clock.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"

namespace kgpu::telemetry {
namespace {

using ::testing::HasSubstr;

class CertificateSourceTest : public ::testing::Test {
 protected:
  void Write(const TestCertificate& leaf) {
    dir_.WriteFile("c.pem", leaf.certificate_pem);
    dir_.WriteFile("k.pem", leaf.key_pem);
  }
  TestCertificate Leaf() const { return authority_.Issue({.names = {"localhost"}}); }
  void PassASecond() { clock_.Advance(std::chrono::seconds(1)); }
  void PassAMinute() { clock_.Advance(std::chrono::seconds(61)); }

  TestAuthority authority_;
  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeClock clock_;
  CertificateSource source_{root_, clock_, {.certificate = "/c.pem", .key = "/k.pem"}};
};

TEST_F(CertificateSourceTest, HasNothingBeforeThereAreFiles) {
  EXPECT_EQ(source_.Current(), nullptr);
  EXPECT_THAT(source_.problem(), HasSubstr("c.pem"));
  Write(Leaf());
  EXPECT_EQ(source_.Current(), nullptr) << "files that will not do are not read for each client";
  PassASecond();
  EXPECT_NE(source_.Current(), nullptr);
  EXPECT_EQ(source_.problem(), "");
}

TEST_F(CertificateSourceTest, StaysTheSameWhileTheFilesDo) {
  Write(Leaf());
  const auto context = source_.Current();
  PassAMinute();
  EXPECT_EQ(source_.Current(), context);
}

TEST_F(CertificateSourceTest, TakesReplacedFilesWithinAMinute) {
  Write(Leaf());
  const auto context = source_.Current();
  Write(Leaf());
  EXPECT_EQ(source_.Current(), context);
  PassAMinute();
  EXPECT_NE(source_.Current(), context);
}

TEST_F(CertificateSourceTest, WaitsForTheOtherFileOfAPair) {
  Write(Leaf());
  const auto context = source_.Current();
  const TestCertificate next = Leaf();
  dir_.WriteFile("c.pem", next.certificate_pem);
  PassAMinute();
  EXPECT_EQ(source_.Current(), context);
  EXPECT_THAT(source_.problem(), HasSubstr("does not belong"));
  dir_.WriteFile("k.pem", next.key_pem);
  EXPECT_EQ(source_.Current(), context);
  PassASecond();
  EXPECT_NE(source_.Current(), context) << "soon";
  EXPECT_EQ(source_.problem(), "");
}

TEST_F(CertificateSourceTest, ReturnsToTheFormerPair) {
  const TestCertificate leaf = Leaf();
  Write(leaf);
  EXPECT_NE(source_.Current(), nullptr);
  dir_.WriteFile("k.pem", "torn");
  PassAMinute();
  EXPECT_NE(source_.Current(), nullptr);
  EXPECT_NE(source_.problem(), "");
  Write(leaf);
  PassASecond();
  EXPECT_NE(source_.Current(), nullptr);
  EXPECT_EQ(source_.problem(), "");
}

}  // namespace
}  // namespace kgpu::telemetry
