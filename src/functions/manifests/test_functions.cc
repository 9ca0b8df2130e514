#include "src/functions/manifests/test_functions.h"

#include <gtest/gtest.h>

#include "src/functions/spec/functions_file.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {

Function FunctionWith(std::string_view fields) {
  std::string text = "functions: {hello: {image: 'registry.example/hello:1'";
  text += fields.empty() ? "" : ", ";
  text += fields;
  text += "}}";
  const auto file = ParseFunctionsFile(text, "config.yaml");
  EXPECT_OK(file) << text;
  Function function = file.ok() ? file->functions.front() : Function{};
  function.handler = {};  // what a build needs does not reach a gateway
  return function;
}

}  // namespace kgpu::functions
