#include "src/cli/fn_gateway.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/cli/environment.h"
#include "src/cli/options.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/http/client.h"
#include "src/platform/http/client_connection.h"
#include "src/platform/http/status_code.h"
#include "src/platform/http/writer.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::cli {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr size_t kMaxAnswer = size_t{64} << 20;

std::string EnvironmentValue(std::string_view name) {
  for (const std::string& variable : Environment()) {
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('=')) {
      return variable.substr(name.size() + 1);
    }
  }
  return "";
}

StatusOr<std::string> TcpAddressOf(std::string_view where, std::string_view gateway) {
  std::string_view address = gateway;
  if (address.starts_with(kHttps)) {
    return Unimplemented("{}: {}: TLS is not supported: use http:// through a tunnel", where,
                         Printable(gateway));
  }
  if (address.starts_with(kHttp)) {
    address.remove_prefix(kHttp.size());
  }
  while (address.ends_with('/')) {
    address.remove_suffix(1);
  }
  RETURN_IF_ERROR(Annotate(sys::TcpAddress::Parse(std::string(address)).status(), "{}", where));
  return std::string(address);
}

bool IsSocket(const std::string& address) {
  return address.find('/') != std::string::npos;
}

Status NobodyAnswers(const std::string& address, const Status& status) {
  if (status.code() == StatusCode::kPermissionDenied) {
    return PermissionDenied("{}: permission denied: run this command as root", address);
  }
  const bool is_missing = status.code() == StatusCode::kNotFound ||
                          (IsSocket(address) && !sys::IsListening(address).value_or(false));
  if (IsSocket(address) && is_missing) {
    return Unavailable("no function service runs on this machine: start it with `kgpu fn up`: {}",
                       Message(status));
  }
  return Unavailable("{}", Message(status));
}

// One exchange on a loop of its own.
class Exchange {
 public:
  Exchange(EpollLoop& loop, const StreamHandlers& handlers) : loop_(loop), handlers_(handlers) {}

  Status Run(const std::string& address, const http::Request& request) {
    ASSIGN_OR_RETURN(text_, http::RequestText(request, IsSocket(address) ? "localhost" : address));
    if (IsSocket(address)) {
      ASSIGN_OR_RETURN(socket_, sys::ConnectUnix(address));
      RETURN_IF_ERROR(Send(address));
    } else {
      ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
      ASSIGN_OR_RETURN(socket_, sys::StartConnectTcp(tcp));
      ASSIGN_OR_RETURN(connected_, loop_.WatchWritable(socket_.get(), [this, tcp, address] {
        loop_.Unwatch(connected_);
        Status status = sys::ConnectResult(socket_, tcp);
        status = status.ok() ? Send(address) : status;
        if (!status.ok()) {
          End(status);
        }
      }));
    }
    loop_.Run();
    return result_;
  }

 private:
  Status Send(const std::string& address) {
    ASSIGN_OR_RETURN(connection_, http::ClientConnection::Open(
                                      loop_, std::move(socket_), nullptr, address,
                                      {.header = size_t{64} << 10, .body = size_t{1} << 40}));
    connection_->Send(std::move(text_), false,
                      {.on_head = handlers_.on_head,
                       .on_data =
                           [this](std::string_view bytes) {
                             if (const Status status = handlers_.on_data(bytes); !status.ok()) {
                               End(status);
                             }
                           },
                       .on_end = [this](const Status& status) { End(status); }});
    return OkStatus();
  }

  void End(const Status& status) {
    result_ = status;
    if (connection_ != nullptr) {
      connection_->Close();
    }
    loop_.Quit();
  }

  EpollLoop& loop_;
  const StreamHandlers& handlers_;
  std::string text_;
  UniqueFd socket_;
  WatchId connected_ = WatchId::kNone;
  std::shared_ptr<http::ClientConnection> connection_;
  Status result_;
};

}  // namespace

void AddGatewayOptions(CLI::App& command, GatewayOptions& options) {
  options.run_dir = kRunDir;
  AddValue(
      command, "-g,--gateway", options.gateway, "HOST:PORT",
      "Gateway (default: the file's, $KGPU_GATEWAY, $OPENFX_URL, else this machine's service)");
  AddRunDirOption(command, options.run_dir, "Folder of the service's socket");
  AddHostRootOption(command, options.host_root);
}

StatusOr<std::string> GatewayAddress(const GatewayOptions& options, std::string_view from_file) {
  if (!options.gateway.empty()) {
    return TcpAddressOf("--gateway", options.gateway);
  }
  if (!from_file.empty()) {
    return TcpAddressOf("openfx.gateway", from_file);
  }
  for (const char* name : {"KGPU_GATEWAY", "OPENFX_URL"}) {
    if (const std::string value = EnvironmentValue(name); !value.empty()) {
      return TcpAddressOf(name, value);
    }
  }
  return BelowHostRoot(options.run_dir, kRunDir, options.host_root) + "/functions.sock";
}

StatusOr<http::Response> AskGateway(const std::string& address, const http::Request& request,
                                    std::chrono::milliseconds timeout) {
  StatusOr<http::Response> response =
      http::Fetch(address, request, {.timeout = timeout, .max_body = kMaxAnswer});
  return response.ok() ? std::move(response) : NobodyAnswers(address, response.status());
}

Status GatewayRefusal(const http::Response& response) {
  std::string text(Trim(response.body));
  const StatusOr<boost::json::value> body = doc::ParseJson(response.body, "the answer", {});
  if (body.ok() && body->is_object()) {
    const boost::json::value* message = body->get_object().if_contains("message");
    if (message != nullptr && message->is_string()) {
      const boost::json::string& given = message->get_string();
      text.assign(given.data(), given.size());
    }
  }
  constexpr size_t kLongest = 4'000;
  text = text.size() > kLongest ? text.substr(0, kLongest) : text;
  switch (response.code) {
    case 409:
      return FailedPrecondition("{}", text);
    case 422:
      return FailedPrecondition("{}", text);
    default: {
      const Status status = http::StatusOf(response.code, text);
      return status.ok() ? Internal("the service answered {}: {}", response.code, text)
                         : MakeStatus(status.code(), text);
    }
  }
}

StatusOr<boost::json::value> AskGatewayForJson(const std::string& address,
                                               const http::Request& request,
                                               std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(const http::Response response, AskGateway(address, request, timeout));
  if (response.code != 200) {
    return GatewayRefusal(response);
  }
  return doc::ParseJson(response.body, "the answer", {.bytes = kMaxAnswer});
}

Status StreamFromGateway(const std::string& address, const http::Request& request,
                         const StreamHandlers& handlers) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  bool has_head = false;
  StreamHandlers noted = handlers;
  noted.on_head = [&](int code, const http::Headers& headers) {
    has_head = true;
    handlers.on_head(code, headers);
  };
  const Status status = Exchange(*loop, noted).Run(address, request);
  return status.ok() || has_head ? status : NobodyAnswers(address, status);
}

}  // namespace kgpu::cli
