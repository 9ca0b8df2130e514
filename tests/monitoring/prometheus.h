// A real Prometheus for the test.
#pragma once

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::monitoring {

class Prometheus {
 public:
  // Runs `program` with that configuration, whose folder may contain other files; it is serving
  // when this returns. If it does not start, the test fails.
  Prometheus(const std::string& program, const TempDir& dir, const std::string& config);

  // The result of an instant query, an array of samples.
  boost::json::value Query(const std::string& expression) const;
  // The value of the only sample of that query.
  std::optional<double> Value(const std::string& expression) const;
  // "/api/v1/rules": its "data".
  boost::json::value Get(const std::string& target) const;
  // What it has logged so far.
  const std::string& log();

 private:
  std::string address_;
  std::unique_ptr<e2e::Background> program_;
};

}  // namespace kgpu::monitoring
