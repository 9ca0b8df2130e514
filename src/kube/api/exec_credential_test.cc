#include "src/kube/api/exec_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

std::string Printed(std::string_view status) {
  return fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})", kV1, status);
}

TEST(ExecCredentialTest, ReadsATokenAndACertificate) {
  const auto credential =
      ParseExecCredential(Printed(R"({"token":"t","clientCertificateData":"C","clientKeyData":"K",
                  "expirationTimestamp":"2023-11-14T22:13:20Z","more":1})"),
                          kV1);
  ASSERT_OK(credential);
  EXPECT_EQ(credential->token, "t");
  EXPECT_EQ(credential->certificate_pem, "C");
  EXPECT_EQ(credential->key_pem, "K");
  EXPECT_EQ(credential->expires, WallTime(std::chrono::seconds(1'700'000'000)));
  const auto lasting =
      ParseExecCredential(Printed(R"({"token":"t","expirationTimestamp":null})"), kV1);
  ASSERT_OK(lasting);
  EXPECT_FALSE(lasting->expires.has_value());
}

TEST(ExecCredentialTest, SaysWhatIsWrongAndNothingOfASecret) {
  const struct {
    std::string text;
    std::string wanted;
  } kCases[] = {
      {"secret", "not a JSON object"},
      {"[\"secret\"]", "not a JSON object"},
      {R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"Secret"})", "kind"},
      {R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",
           "status":{"token":"secret"}})",
       "apiVersion: must be client.authentication.k8s.io/v1,"},
      {Printed("{}"), "neither"},
      {Printed("null"), "neither"},
      {Printed(R"({"token":7})"), "status.token: must be a string"},
      {Printed(R"({"token":"secret\r\nX: y"})"), "status.token"},
      {Printed(R"({"clientCertificateData":"secret"})"), "together"},
      {Printed(R"({"clientKeyData":"secret","token":"secret"})"), "together"},
      {Printed(R"({"token":"secret","expirationTimestamp":"secret"})"), "expirationTimestamp"}};
  for (const auto& c : kCases) {
    EXPECT_THAT(ParseExecCredential(c.text, kV1),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(c.wanted), Not(HasSubstr("secret")))))
        << c.text;
  }
}

TEST(ExecCredentialTest, TellsThePluginWhatItIsToKnow) {
  ExecSpec spec{.api_version = std::string(kV1)};
  const ClusterSpec cluster{.server = "https://h", .tls_server_name = "n", .proxy_url = "http://p"};
  EXPECT_EQ(json::parse(ExecInfo(spec, cluster, "ca")),
            json::parse(R"({"apiVersion":"client.authentication.k8s.io/v1",
                            "kind":"ExecCredential","spec":{"interactive":false}})"));
  spec.wants_cluster = true;
  EXPECT_EQ(json::parse(ExecInfo(spec, cluster, "ca")).at("spec").at("cluster"),
            json::parse(R"({"server":"https://h","tls-server-name":"n",
                            "certificate-authority-data":"Y2E=","proxy-url":"http://p"})"));
}

}  // namespace
}  // namespace kgpu::kube
