#include "src/container/engine/engine_socket.h"

#include <boost/json/value.hpp>

#include <string_view>
#include <vector>

#include "src/platform/doc/json_values.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

// Where the configuration says that it listens; dockerd may listen in several places.
std::vector<std::string> ConfiguredAddresses(const sys::Root& host, const Engine& engine) {
  const auto text = host.ReadFile(engine.config_file);
  const bool is_json = engine.kind == Kind::kDocker;
  const auto document = edit::Document::Open(text.ok() ? *text : "", engine.config_file,
                                             is_json ? edit::Syntax::kJson : edit::Syntax::kToml);
  if (!document.ok() || !engine.generated_file.empty()) {
    return {};
  }
  const edit::Key key = is_json                      ? edit::Key{"hosts"}
                        : engine.kind == Kind::kCrio ? edit::Key{"crio", "api", "listen"}
                                                     : edit::Key{"grpc", "address"};
  const boost::json::value* value = document->Find(key);
  if (value != nullptr && value->is_string()) {
    return {std::string(value->get_string().data(), value->get_string().size())};
  }
  return doc::TextsOf(value);
}

std::vector<std::string> GivenAddresses(const host::Daemon& daemon) {
  if (daemon.name == "containerd") {
    return daemon.Flags({"--address", "-a"});
  }
  return daemon.name == "dockerd" ? daemon.Flags({"--host", "-H"}) : daemon.Flags({"--listen"});
}

}  // namespace

std::string SocketOf(const sys::Root& host, const Engine& engine, const std::string& usual) {
  std::vector<std::string> addresses =
      engine.daemon ? GivenAddresses(*engine.daemon) : std::vector<std::string>();
  if (addresses.empty()) {
    addresses = ConfiguredAddresses(host, engine);
  }
  for (std::string_view address : addresses) {
    if (address.starts_with("unix://")) {
      address.remove_prefix(7);
    }
    if (address.starts_with('/')) {
      return std::string(address);
    }
    if (address.starts_with("fd:")) {
      return usual;
    }
  }
  return addresses.empty() ? usual : "";
}

}  // namespace kgpu::engine
