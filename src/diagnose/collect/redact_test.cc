#include "src/diagnose/collect/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::collect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Clean(std::string text) {
  std::map<std::string, size_t> removed;
  RemoveSecrets(text, removed);
  return text;
}

TEST(RedactTest, SecretsGoInEveryFormat) {
  for (const char* text : {
           "token: s3cr3t-value",
           "    token: \"s3cr3t-value\"  # of the admin",
           R"({"password":"s3cr3t-value","user":"u"})",
           "client-key-data: s3cr3t-value==",
           "HF_TOKEN=s3cr3t-value",
           "{\"name\": \"x\", \"env\": [\"AWS_SECRET_ACCESS_KEY=s3cr3t-value\"]}",
           "Authorization: Bearer s3cr3t-value",
           "proxy = \"http://user:s3cr3t-value@proxy:3128\"",
           "-----BEGIN RSA PRIVATE KEY-----\ns3cr3t-value\n-----END RSA PRIVATE KEY-----",
           "x eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzM2NyM3Qi.s3cr3t-value y",
           "apiKey='s3cr3t-value'",
           "password: \"two s3cr3t-value\"",
           R"({"password": "a\"s3cr3t-value"})",
           R"({"msg": "{\"token\":\"a s3cr3t-value\"}"})",
           "token: |\n  first\n  s3cr3t-value\nother: 1",
           "kgpu agent --token s3cr3t-value",
           "password=<a>s3cr3t-value",
           R"({"name": "HF_TOKEN", "value": "s3cr3t-value"})",
           R"({"name":"HF_TOKEN","value":"two s3cr3t-value"},{"name":"A","value":"b"})",
           "- name: DB_PASSWORD\n  value: s3cr3t-value\n- name: A\n  value: b",
           R"({"value": "s3cr3t-value", "name": "api-key"})",
           R"("{\"name\":\"HF_TOKEN\",\"value\":\"s3cr3t-value\"}")",
       }) {
    EXPECT_THAT(Clean(text), Not(HasSubstr("s3cr3t-value"))) << text;
    EXPECT_THAT(Clean(text), HasSubstr("<removed>")) << text;
  }
}

TEST(RedactTest, EverythingElseStays) {
  for (const char* text : {
           "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2bf977: healthy",
           "image: registry:5000/app@sha256:0123",
           R"({"name": "MODE", "value": "fast"})",
           "http://10.0.0.1:9401/metrics",
           "level=info event=\"CDI spec written\" file=/var/run/cdi/kgpu.json",
           "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
       }) {
    EXPECT_EQ(Clean(text), text);
  }
}

TEST(RedactTest, CountsByKind) {
  std::map<std::string, size_t> removed;
  std::string text = "password: a\npassword: b\nBearer abcdefghijk\n";
  RemoveSecrets(text, removed);
  EXPECT_EQ(removed["value of a secret's name"], 2U);
  EXPECT_EQ(removed["token"], 1U);
  const std::string clean = "password: \"<removed>\"\npassword: \"<removed>\"\nBearer <removed>\n";
  EXPECT_EQ(text, clean);
  RemoveSecrets(text, removed);
  EXPECT_EQ(text, clean) << "nothing is left";
}

}  // namespace
}  // namespace kgpu::collect
