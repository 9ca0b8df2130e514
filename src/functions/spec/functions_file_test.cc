#include "src/functions/spec/functions_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/checks.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What is wrong with the fields of a function.
std::string ProblemOf(std::string_view fields) {
  const auto file = ParseFunctionsFile(
      "functions:\n  hello:\n    runtime: go\n    " + std::string(fields) + "\n", "config.yaml");
  EXPECT_FALSE(file.ok()) << fields;
  return file.ok() ? "" : std::string(Message(file.status()));
}

struct WrongField {
  std::string_view fields;
  std::string_view problem;
};

TEST(FunctionsFileTest, EveryErrorNamesPlaceFieldValueAndFix) {
  const std::vector<WrongField> table = {
      {"request: {gpu: 2}",
       "config.yaml:4:5: functions.hello.request: unknown key, did you mean \"requests\"?"},
      {"requests: {gpus: 2}",
       "config.yaml:4:16: functions.hello.requests.gpus: unknown key, did you mean \"gpu\"?"},
      {"limits: {gpu: -1}",
       "config.yaml:4:19: functions.hello.limits.gpu: \"-1\" must be an integer from 0 to 64"},
      {"limits: {gpu: two}", "\"two\" must be an integer from 0 to 64"},
      {"limits: {gpu: 1.5}", "\"1.5\" must be an integer from 0 to 64"},
      {"limits: {gpu: 99}", "\"99\" must be an integer from 0 to 64"},
      {"limits: {gpu: [1]}", "functions.hello.limits.gpu: [\"1\"] must be an integer"},
      {"limits: {gpu: {count: 0}}", "limits.gpu.count: \"0\" must be an integer from 1 to 64"},
      {"limits: {gpu: {count: 1, model: 'A*'}}", "\"A*\" must be one model: list several"},
      {"limits: {gpu: {model: [T4, T4]}}", "limits.gpu.model[1]: \"T4\" is a duplicate: remove"},
      {"limits: {gpu: {memory: much}}", "limits.gpu.memory: \"much\" must be an amount of memory"},
      {"limits: {gpu: 1}\n    requests: {gpu: 2}",
       "config.yaml:5:21: functions.hello.requests.gpu: \"2\" must equal limits.gpu, since a GPU "
       "is "
       "not shared: remove one"},
      {"limits: {gpu: {model: T4}}\n    requests: {gpu: {model: L4}}", "must equal limits.gpu"},
      {"limits: {memory: 1Gi}\n    requests: {memory: 2Gi}",
       "config.yaml:2:3: functions.hello: requests.memory: 2Gi must be at most limits.memory, 1Gi"},
      {"limits: {cpu: 1}\n    requests: {cpu: 1500m}",
       "requests.cpu: 1500m must be at most limits.cpu, 1"},
      {"limits: {cpu: 1.2345}", "\"1.2345\" must be a number of cores: 500m, 0.5, 2"},
      {"limits: {memory: 0}", "\"0\" must be between 1 byte and 1Pi"},
      {"runtme: go", "unknown key, did you mean \"runtime\"?"},
      {"handler: {dir: /src}", "\"/src\" must be a folder below this file's own"},
      {"handler: {dir: a/../../b}", "must be a folder below this file's own"},
      {"handler: {file: a/b.py}", "\"a/b.py\" must be the name of a file in handler.dir"},
      {"handler: {name: 'a b'}", "\"a b\" must be the name of a function in handler.file"},
      {"image: Reg/Hello", "\"Reg/Hello\" must be an image in lower case"},
      {"image: 'a b'", "must be an image"},
      {"image: a@sha256:12", "must be an image"},
      {"docker_registry: 'reg:port'", "\"reg:port\" must be a registry"},
      {"environment: {1A: x}", "functions.hello.environment.1A: \"1A\" must be the name of a var"},
      {"environment: {NVIDIA_VISIBLE_DEVICES: all}",
       "is set by kgpu: remove it; GPUs are requested with requests.gpu"},
      {"environment: {KGPU_FN_LISTEN: x}", "\"KGPU_FN_LISTEN\" is set by kgpu: remove it"},
      {"environment: {A: [x]}", "functions.hello.environment.A: [\"x\"] must be a string"},
      {"environment: {A: \"\\0\"}", "environment.A: contains a byte 0: remove it"},
      {"environment_file: a.yaml", "environment_file: \"a.yaml\" must be a list"},
      {"secrets: [Token]", "secrets[0]: \"Token\" must be the name of a secret"},
      {"secrets: [../etc]", "\"../etc\" must be the name of a secret"},
      {"secrets: [a, a]", "secrets[1]: \"a\" is a duplicate: remove one"},
      {"constraints: [cpunode]", "\"cpunode\" must be a node's label: nodetype=gpunode"},
      {"labels: {'a b': x}", "\"a b\" must be a label's key"},
      {"labels: {a: 'x y'}", "functions.hello.labels.a: \"x y\" must be a label's value"},
      {"annotations: {desc: x}", "annotations.desc: set desc instead"},
      {"build_options: ['-y']", "build_options[0]: \"-y\" must be a Debian package"},
      {"build_args: [A]", "build_args[0]: \"A\" must be NAME=value"},
      {"build_args: [A=1, A=2]", "build_args[1]: \"A=2\" is a duplicate"},
      {"replicas: {min: 3, max: 1}", "replicas.min: 3 must be at most replicas.max, 1"},
      {"replicas: {max: 0}", "replicas.max: \"0\" must be an integer from 1 to 1000"},
      {"replicas: 3", "functions.hello.replicas: \"3\" must be a map"},
      {"concurrency: 0", "\"0\" must be an integer from 1 to 1000"},
      {"maxInput: 17Mi", "maxInput: \"17Mi\" must be at most 16Mi"},
      {"maxOutput: 2Gi", "maxOutput: \"2Gi\" must be at most 1Gi"},
      {"processes: 2", "processes: 2 must be at most concurrency, 1"},
      {"timeout: 60", "functions.hello.timeout: \"60\" must be a number with ms, s, m or h"},
      {"timeout: 0", "timeout: \"0\" must be between 1ms and 24h"},
      {"idle: 10ms", "idle: \"10ms\" must be between 1s and 24h"},
      {"async: yes", "async: \"yes\" must be one of true, false"},
      {"retries: -1", "retries: \"-1\" must be an integer from 0 to 100"},
      {"pids: 1", "\"1\" must be an integer from 16 to 1000000"},
      {"scaling: hpa", "functions.hello.scaling: \"hpa\" must be a map"},
      {"scaling: {by: me}", "scaling.by: \"me\" must be one of kgpu, hpa, keda"},
      {"scaling: {by: hpa}\n    replicas: {min: 0}",
       "scaling.by: hpa needs replicas.min of at least 1"},
      {"scaling: {by: hpa}", "scaling.by: hpa needs requests.cpu or limits.cpu"},
      {"network: host", "network: \"host\" must be one of default, none"},
      {"desc:", "functions.hello.desc: has no value: set one, or remove the key"},
      {"runtime: go", "duplicate"},
  };
  for (const WrongField& wrong : table) {
    EXPECT_THAT(ProblemOf(wrong.fields), HasSubstr(std::string(wrong.problem))) << wrong.fields;
  }
}

TEST(FunctionsFileTest, ErrorsOutsideOfAFunctionToo) {
  const std::vector<WrongField> table = {
      {"function: {}", "config.yaml:1:1: function: unknown key, did you mean \"functions\"?"},
      {"openfx: {gateway: x}", "openfx.gateway: \"x\" must be host:port: 10.0.0.5:31113"},
      {"openfx: {}", "functions: missing: add a map of functions by name"},
      {"functions: {Hello: {runtime: go}}", "functions.Hello: \"Hello\" must be a function's name"},
      {"functions: {a_b: {runtime: go}}", "\"a_b\" must be a function's name"},
      {"functions: {-a: {runtime: go}}", "must be a function's name"},
      {"functions: {a: {}}", "functions.a: runtime: missing: set it"},
      {"functions: {a: {runtime: pyhton3}}",
       "functions.a.runtime: \"pyhton3\" must be one of cpp, python3, go, nodejs, ruby, java; did "
       "you mean \"python3\"?"},
      {"functions: [a]", "functions: [\"a\"] must be a map"},
      {"functions: {a: go}", "functions.a: \"go\" must be a map"},
      {"[]", "[] must be a map"},
      {"functions: {a: {runtime: go}, a: {runtime: go}}", "duplicate"},
      {"functions: {", "config.yaml:"},
  };
  for (const WrongField& wrong : table) {
    const auto file = ParseFunctionsFile(wrong.fields, "config.yaml");
    EXPECT_FALSE(file.ok()) << wrong.fields;
    EXPECT_THAT(std::string(Message(file.status())), HasSubstr(std::string(wrong.problem)));
  }
}

TEST(FunctionsFileTest, AllErrorsAreReportedAtOnceUpToALimit) {
  std::string text = "functions:\n  a:\n    runtime: go\n    environment:\n";
  for (int i = 0; i < 30; ++i) {
    text += fmt::format("      {}x: y\n", i);
  }
  const auto file = ParseFunctionsFile(text, "config.yaml");
  const std::string problems(Message(file.status()));
  EXPECT_EQ(Split(problems, '\n').size(), 21U);
  EXPECT_THAT(problems, HasSubstr("and 10 more: fix these first"));
}

TEST(FunctionsFileTest, LimitsAreEnforced) {
  std::string many = "functions:\n";
  for (size_t i = 0; i <= kMaxFunctions; ++i) {
    many += fmt::format("  f{}: {{runtime: go}}\n", i);
  }
  EXPECT_THAT(std::string(Message(ParseFunctionsFile(many, "config.yaml").status())),
              HasSubstr("257 functions exceed the limit of 256"));
  const std::string large(kMaxFunctionsFileBytes + 1, ' ');
  EXPECT_FALSE(ParseFunctionsFile(large, "config.yaml").ok());
  const std::string value(kMaxTextBytes + 1, 'x');
  EXPECT_THAT(ProblemOf("environment: {A: " + value + "}"), HasSubstr("exceed the limit of 65536"));
  std::string variables = "environment:";
  for (int i = 0; i < 6; ++i) {
    variables += fmt::format("\n      A{}: {}", i, std::string(kMaxTextBytes, 'x'));
  }
  EXPECT_THAT(ProblemOf(variables), HasSubstr("exceed the limit of 262144: pass a file"));
}

TEST(FunctionsFileTest, SecretsOfTheFileAreNotInErrors) {
  EXPECT_THAT(
      ProblemOf("registry_auth: topsecret\n    pids: 1"),
      AllOf(HasSubstr("registry_auth"), HasSubstr("in base64"), Not(HasSubstr("topsecret"))));
}

TEST(FunctionsFileTest, PrintsWhatItReads) {
  const auto file = ParseFunctionsFile(
      "functions: {a: {runtime: cpp, requests: {gpu: {model: [T4, L4], memory: 8Gi}}, "
      "environment: {A: 'null', B: '1'}, replicas: {min: 0, max: 2}, network: none}, "
      "b: {runtime: go, limits: {gpu: 1, cpu: 250m}}}\nopenfx: {gateway: ':31113'}",
      "config.yaml");
  ASSERT_OK(file);
  for (const doc::Format format : {doc::Format::kYaml, doc::Format::kJson}) {
    const auto again =
        ParseFunctionsFile(PrintFunctionsFile(*file, format),
                           format == doc::Format::kJson ? "config.json" : "config.yaml");
    ASSERT_OK(again);
    EXPECT_EQ(*again, *file);
  }
}

TEST(FunctionsFileTest, OneFunctionIsSelectedByNameOrBecauseItIsTheOnlyOne) {
  const auto two = ParseFunctionsFile("functions: {a: {runtime: go}, b: {runtime: go}}", "f.yaml");
  const auto one = ParseFunctionsFile("functions: {a: {runtime: go}}", "f.yaml");
  ASSERT_OK(two);
  ASSERT_OK(one);
  EXPECT_EQ(SelectFunction(*two, "b")->name, "b");
  EXPECT_EQ(SelectFunction(*one, "")->name, "a");
  EXPECT_THAT(SelectFunction(*two, "").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name one of a, b")));
  EXPECT_THAT(SelectFunction(*two, "c").status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("no function \"c\"")));
  EXPECT_EQ(FindFunction(*one, "b"), nullptr);
}

}  // namespace
}  // namespace kgpu::functions
