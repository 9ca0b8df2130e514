#include "src/platform/net/http/field.h"

#include <gtest/gtest.h>

namespace kgpu::http {
namespace {

TEST(FieldTest, NamesAreTokens) {
  for (const std::string_view name : {"Set-Cookie", "x", "a!#$%&'*+-.^_`|~9"}) {
    EXPECT_TRUE(IsToken(name)) << name;
  }
  for (const std::string_view name :
       {"", "Bad Header", "a:b", "a\r\nb", "\xc3\xa4", "a/b", "\"a\""}) {
    EXPECT_FALSE(IsToken(name)) << name;
  }
}

TEST(FieldTest, ValuesHaveNoLineEnds) {
  for (const std::string_view value : {"", "a", "a b\tc", "\xc3\xa4", "a\"\\"}) {
    EXPECT_TRUE(IsFieldValue(value)) << value;
  }
  using namespace std::string_view_literals;
  for (const std::string_view value : {"a\nb"sv, "a\rb"sv, "a\0b"sv, "\x7f"sv, " a"sv, "a\t"sv}) {
    EXPECT_FALSE(IsFieldValue(value)) << value;
  }
}

TEST(FieldTest, HostsAreNamesOrAddressesWithAPort) {
  for (const std::string_view host : {"", "a", "a.example", "a.example:80", "10.0.0.1:1", "[::1]",
                                      "[fe80::1%25eth0]:8080", "a_b", "a:"}) {
    EXPECT_TRUE(IsHost(host)) << host;
  }
  for (const std::string_view host :
       {"a b/c", "a b", "a/b", "a@b", "a:80:90", "a:8x", "[::1", "[]", "[::1]x", "[a b]", "a,b@c",
        "\xc3\xa4", "a?b", "a#b", "a\tb"}) {
    EXPECT_FALSE(IsHost(host)) << host;
  }
}

}  // namespace
}  // namespace kgpu::http
