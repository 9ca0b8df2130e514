#include "src/kube/cel/cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::cel {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value Text(const char* text) {
  return {std::string(text)};
}

Value Device() {
  Map own;
  own.fields = {{"type", Text("gpu")},
                {"index", {int64_t{3}}},
                {"healthy", {true}},
                {"driverVersion", {*ParseSemver("550.54.15")}}};
  Map more;
  more.fields = {{"model", Text("A100-SXM4-80GB")}};
  Map attributes;
  attributes.has_every_key = true;
  attributes.fields = {{"gpu.nvidia.com", MapValue(own)}, {"kgpu.dev", MapValue(more)}};
  Map sizes;
  sizes.fields = {{"memory", *QuantityValue("80Gi")}};
  Map capacity;
  capacity.has_every_key = true;
  capacity.fields = {{"gpu.nvidia.com", MapValue(sizes)}};
  Map device;
  device.fields = {{"driver", Text("gpu.nvidia.com")},
                   {"allowMultipleAllocations", {false}},
                   {"attributes", MapValue(attributes)},
                   {"capacity", MapValue(capacity)}};
  return MapValue(device);
}

// "true", "false", "error …" as in the scheduler, or "unknown …" of kgpu's own.
std::string ResultOf(const std::string& text) {
  const auto program = Program::Compile(text);
  const StatusOr<bool> result =
      program.ok() ? program->Matches(Device()) : StatusOr<bool>(program.status());
  if (result.ok()) {
    return *result ? "true" : "false";
  }
  return fmt::format("{} {}",
                     result.status().code() == StatusCode::kInvalidArgument ? "error" : "unknown",
                     Message(result.status()));
}

#define GPU "device.attributes[\"gpu.nvidia.com\"]"
#define MEMORY "device.capacity[\"gpu.nvidia.com\"].memory"

TEST(CelTest, HoldsForTheDevice) {
  for (const char* text : {
           "true",
           "device.driver == \"gpu.nvidia.com\" && " GPU ".type == 'gpu'",
           "device.attributes['kgpu.dev'].model in ['H100', 'A100-SXM4-80GB']",
           "'model' in device.attributes['kgpu.dev']",
           "!('model' in device.attributes['none'])",
           "'kgpu.dev' in device.attributes && !('none' in device.attributes)",
           GPU ".index >= 2 && " GPU ".index < 4 && " GPU ".index != 2",
           GPU ".index == 3.0 && 3.5 > " GPU ".index",
           "!device.allowMultipleAllocations && " GPU ".healthy",
           "1 + 2 * 3 - 8 / 2 % 3 == 6",
           "-(-3) == 3 && --3 == 3 && - 2 < -1",
           "(" GPU ".index > 5 ? 'a' : 'b') == 'b'",
           "true ? true : false ? false : false",
           MEMORY ".compareTo(quantity('40Gi')) > 0 && " MEMORY ".compareTo(quantity('80Gi')) == 0",
           MEMORY ".isGreaterThan(quantity(\"79Gi\")) && " MEMORY ".isLessThan(quantity('1Ti'))",
           MEMORY ".asInteger() == 85899345920 && " MEMORY ".isInteger()",
           MEMORY ".sub(quantity('40Gi')) == quantity('40Gi')",
           "quantity('1500m').asApproximateFloat() == 1.5 && quantity('1').add(2) == quantity('3')",
           GPU ".driverVersion.compareTo(semver('550.54.14')) == 1",
           GPU ".driverVersion.isGreaterThan(semver('535.0.0')) && " GPU
               ".driverVersion.major() == 550",
           "semver('1.0.0-rc.2').isLessThan(semver('1.0.0')) && isSemver('1.2.3+b') && "
           "!isSemver('1.2')",
           "semver('1.0.0-2').isLessThan(semver('1.0.0-11')) && "
           "semver('1.0.0-9').isLessThan(semver('1.0.0-a'))",
           "device.attributes['kgpu.dev'].model.lowerAscii().startsWith('a100') && "
           "'ab'.upperAscii() == 'AB'",
           "device.attributes['kgpu.dev'].model.matches('^A100-.*GB$') && matches('abc', 'b')",
           "'a-b-c'.split('-') == ['a', 'b', 'c'] && 'a-b'.split('-')[1] == 'b' && "
           "'abc'.endsWith('bc')",
           "'abc'.contains('b') && size('äbc') == 3 && 'äbc'.size() == 3 && [1, 2].size() == 2",
           "cel.bind(gpu, " GPU ", gpu.type == 'gpu' && gpu.index == 3)",
           "cel.bind(x, " GPU ".none, true)",
           "has(" GPU ".type) && !has(" GPU ".none) && !has(device.attributes['none'].x)",
           "device.attributes['none'].?x.orValue('d') == 'd' && !" GPU ".?none.hasValue()",
           GPU ".?index.orValue(0) == 3 && " GPU "[?'type'].value() == 'gpu'",
           "['A100', 'H100'].exists(x, device.attributes['kgpu.dev'].model.startsWith(x))",
           "![1, 2].all(x, x > 1) && [].all(x, false) && ![].exists(x, true)",
           "[1] + [2] == [1, 2] && 'a' + 'b' == 'ab' && 1.5 + 1.5 == 3.0",
           "r'\\d' == '\\\\d' && '''a'b''' == \"a'b\" && '\\t' != 't'",
           "0x10 == 16 // a comment\n && 1e3 == 1000.0",
           "null == null && !(null == 1) && 'a' < 'b' && false < true",
           GPU ".index != 'gpu' && 'gpu' != " GPU ".driverVersion",
           // Errors of one side do not count where the other one decides.
           GPU ".none == 1 || true",
           "!(" GPU ".none == 1 && false)",
           "[1, 2].exists(x, x == 2 || " GPU ".none)",
       }) {
    EXPECT_EQ(ResultOf(text), "true") << text;
  }
}

TEST(CelTest, FailsAsInTheScheduler) {
  const std::pair<const char*, const char*> rows[] = {
      {GPU ".none == 'x'", "error " GPU ".none: no such key"},
      {"device.attributes['none'].x", "no such key"},
      {GPU ".none == 1 || false", "no such key"},
      {"true && " GPU ".index", "3 is no bool"},
      {"device.driver", "the result is a string"},
      {"1 / 0 == 1", "division by zero"},
      {"9223372036854775807 + 1 > 0", "integer overflow"},
      {"-9223372036854775807 - 2 < 0", "integer overflow"},
      {"[1][1] == 1", "no such index"},
      {MEMORY " > quantity('1Gi')", "quantity and quantity cannot be compared"},
      {MEMORY " == 80", "quantity and int cannot be compared"},
      {GPU ".driverVersion == '550.54.15'", "semver and string cannot be compared"},
      {MEMORY ".compareTo(40) > 0", "no such overload for quantity, int"},
      {"quantity('40GB') == quantity('1')", "\"40GB\" is no quantity"},
      {"semver('12.4') == semver('12.4.0')", "is no semantic version"},
      {"1 + 'a' == 'b'", "no such overload: int + string"},
      {"1 + 1.0 == 2.0", "no such overload: int + double"},
      {"!1", "no such overload: !int"},
      {"1 ? true : false", "is no bool"},
      {GPU ".?none.value() == 1", "has no value"},
      {"cel.bind(x, " GPU ".none, x == 1)", "no such key"},
      {"quantity('1500m').asInteger() == 1", "no whole number"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_THAT(ResultOf(text), AllOf(HasSubstr("error "), HasSubstr(error))) << text;
  }
}

TEST(CelTest, RefusesWhatIsNoExpression) {
  for (const char* text :
       {"", "1 +", "a b", "(1", "device.", "device..driver", "'abc", "1 = 1", "has(device)", "$",
        "[1,,2]", "true ?: false", "&& true", "99999999999999999999", "1.2.3", "\xff"}) {
    EXPECT_THAT(ResultOf(text), AnyOf(HasSubstr("error column"), HasSubstr("no number"),
                                      HasSubstr("kgpu does not know")))
        << text;
  }
}

TEST(CelTest, SaysWhatItCannotEvaluateEvenWhereItWouldNotCount) {
  const std::pair<const char*, const char*> rows[] = {
      {"true || timestamp('x') == 1", "column 9: kgpu cannot evaluate timestamp() with 1"},
      {"true || device.driver.charAt(1) == 'p'", "kgpu cannot evaluate .charAt()"},
      {"true || object.spec == 1", "column 9: kgpu does not know \"object\""},
      {"true || {'a': 1} == {}", "column 9: kgpu cannot evaluate maps"},
      {"true || 1u == 1u", "unsigned"},
      {"true || b'x' == b'x'", "bytes"},
      {"true || '\\u0041' == 'A'", "column 10: kgpu cannot evaluate this escape"},
      {"[1].map(x, x) == [1]", "kgpu does not know \"x\""},
      {"cel.bind(x, 1, true) && x == 1", "kgpu does not know \"x\""},
      {"device.attributes.all(x, true)", "kgpu cannot evaluate this with a map"},
      {"quantity('1n') == quantity('1m') || true", "the quantity \"1n\""},
      {"quantity('20E') == quantity('30E')", "the quantity \"20E\""},
      {"quantity('-1') == quantity('1')", "the quantity \"-1\""},
      {"0.0 / 0.0 == 1.0", "NaN"},
      {"'a'.matches('(') || true", "cannot evaluate the pattern"},
      {"device.attributes == device.attributes", "cannot compare values of type map"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_THAT(ResultOf(text), AllOf(HasSubstr("unknown "), HasSubstr(error))) << text;
  }
}

TEST(CelTest, SizeAndDepthHaveLimits) {
  const auto repeat = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += text;
    }
    return all;
  };
  const std::string deep = "more than 100 levels";
  EXPECT_THAT(ResultOf(repeat("(", 5000)), HasSubstr(deep));
  EXPECT_THAT(ResultOf(repeat("!", 5000)), HasSubstr(deep));
  EXPECT_THAT(ResultOf(repeat("[", 5000)), HasSubstr(deep));
  EXPECT_THAT(ResultOf("device" + repeat(".a", 200)), HasSubstr(deep));
  EXPECT_THAT(ResultOf("1" + repeat("+1", 200) + " == 1"), HasSubstr(deep));
  EXPECT_EQ(ResultOf("true" + repeat(" && true", 1000)), "true");
  EXPECT_THAT(ResultOf(repeat(" ", 11000)), HasSubstr("limit 10240"));
  const std::string list = "[" + repeat("1,", 60) + "1]";
  EXPECT_THAT(ResultOf(list + ".all(a, " + list + ".all(b, " + list + ".all(c, a == 1)))"),
              HasSubstr("kgpu stops after"));
}

TEST(CelTest, ShowsWhatItRead) {
  const auto program = Program::Compile(
      "device.driver == 'x' || " GPU ".index > 5 || " GPU ".none == 1 || " GPU
      ".index > 7 || " MEMORY ".isLessThan(quantity('1Gi')) || " GPU ".?type.orValue('') == 'mig'");
  ASSERT_OK(program);
  EXPECT_THAT(program->Readings(Device()),
              ElementsAre("device.driver is \"gpu.nvidia.com\"", GPU ".index is 3",
                          MEMORY " is 80Gi", GPU ".?type is \"gpu\""));
}

}  // namespace
}  // namespace kgpu::cel
