#include "tests/monitoring/prometheus.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "src/kube/api/query.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/status_matchers.h"

namespace kgpu::monitoring {
namespace {

namespace json = boost::json;

// One that was free a moment ago: Prometheus does not report which one it got.
std::string FreeAddress() {
  const auto any = sys::TcpAddress::Parse("127.0.0.1:0");
  const auto listener = sys::TcpListener::Listen(any.value());
  EXPECT_OK(listener.status());
  return listener.ok() ? listener->address() : "";
}

}  // namespace

Prometheus::Prometheus(const std::string& program, const TempDir& dir, const std::string& config) {
  dir.WriteFile("prometheus.yaml", config);
  // Somebody else may take the port in between.
  for (int attempt = 0; attempt < 3; ++attempt) {
    address_ = FreeAddress();
    program_ = std::make_unique<e2e::Background>(std::vector<std::string>{
        "/bin/sh", "-c",
        fmt::format("exec {} --config.file={} --storage.tsdb.path={} --web.listen-address={} 2>&1",
                    program, dir.At("prometheus.yaml"), dir.At("tsdb"), address_)});
    if (program_->WaitFor("Server is ready to receive web requests")) {
      return;
    }
  }
  ADD_FAILURE() << program_->out();
}

json::value Prometheus::Get(const std::string& target) const {
  const auto answer = http::Fetch(address_, {.target = target});
  EXPECT_OK(answer.status());
  const auto tree = answer.ok() ? doc::Parse(answer->body, doc::Format::kJson, "answer")
                                : StatusOr<json::value>(answer.status());
  if (!tree.ok() || !tree->is_object() || !tree->get_object().contains("data")) {
    ADD_FAILURE() << target << ": " << (answer.ok() ? answer->body : "");
    return {};
  }
  return tree->at("data");
}

json::value Prometheus::Query(const std::string& expression) const {
  const json::value data = Get(kube::TargetOf("/api/v1/query", {{"query", expression}}));
  return data.is_object() ? data.at("result") : json::value(json::array());
}

std::optional<double> Prometheus::Value(const std::string& expression) const {
  const json::value result = Query(expression);
  if (!result.is_array() || result.get_array().size() != 1) {
    return std::nullopt;
  }
  return std::strtod(result.at(0).at("value").at(1).as_string().c_str(), nullptr);
}

const std::string& Prometheus::log() {
  (void)program_->WaitFor("\n\n", std::chrono::milliseconds(1));
  return program_->out();
}

}  // namespace kgpu::monitoring
