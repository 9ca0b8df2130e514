#include "src/platform/edit/toml_scalar.h"

#include <gtest/gtest.h>

namespace kgpu::edit {
namespace {

TEST(TomlScalarTest, TakesWhatTomlHas) {
  for (const std::string_view text : {"true",
                                      "false",
                                      "0",
                                      "+99",
                                      "-17",
                                      "1_000",
                                      "0xDEAD_beef",
                                      "0o17",
                                      "0b11",
                                      "inf",
                                      "-nan",
                                      "1.0",
                                      "-0.01",
                                      "5e+22",
                                      "6.6E-34",
                                      "9_2.4_4",
                                      "9223372036854775807",
                                      "1979-05-27",
                                      "2024-02-29",
                                      "07:32:00",
                                      "00:32:00.999999",
                                      "1979-05-27T07:32:00Z",
                                      "1979-05-27 07:32:00-07:00",
                                      "1979-05-27t00:32:00.5"}) {
    EXPECT_TRUE(IsTomlScalar(text)) << text;
  }
}

TEST(TomlScalarTest, RefusesWhatOnlyLooksLikeIt) {
  for (const std::string_view text : {"",
                                      "True",
                                      "yes",
                                      "00",
                                      "01",
                                      "1__0",
                                      "_1",
                                      "1_",
                                      "0x",
                                      "0xG",
                                      "0o8",
                                      "0b2",
                                      "+0x1",
                                      ".5",
                                      "5.",
                                      "1e",
                                      "1.e5",
                                      "9223372036854775808",
                                      "1979-25-07 0",
                                      "1979-13-01",
                                      "2023-02-29",
                                      "1979-05-32",
                                      "24:00:00",
                                      "07:60:00",
                                      "07:32",
                                      "1979-05-27T",
                                      "1979-05-27 07:32:00+",
                                      "1979-05-27X07:32:00",
                                      "07:32:00Z",
                                      "1 2",
                                      "--1",
                                      "infinity"}) {
    EXPECT_FALSE(IsTomlScalar(text)) << text;
  }
}

}  // namespace
}  // namespace kgpu::edit
