#include "src/cli/fn/fn_gateway.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "src/cli/base/environment.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/functions/replicas/watchdog_route.h"
#include "src/functions/spec/checks.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/net/dial/endpoint.h"
#include "src/platform/net/dial/route.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/status_code.h"
#include "src/platform/sys/root.h"
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

// "https://gateway.example:31113/" without scheme and slashes. Errors: InvalidArgument.
StatusOr<net::Endpoint> EndpointOf(std::string_view where, std::string_view gateway) {
  constexpr uint16_t kHttpPort = 80;
  std::string_view rest = gateway;
  const bool is_tls = rest.starts_with(kHttps);
  const bool has_scheme = is_tls || rest.starts_with(kHttp);
  rest.remove_prefix(is_tls ? kHttps.size() : (has_scheme ? kHttp.size() : 0));
  while (rest.ends_with('/')) {
    rest.remove_suffix(1);
  }
  // OpenFx's own default is ":31113": on this machine.
  const std::string authority = fmt::format("{}{}", rest.starts_with(':') ? "127.0.0.1" : "", rest);
  const size_t last = authority.rfind(':');
  const bool has_port = last != std::string::npos && authority.find(']', last) == std::string::npos;
  StatusOr<net::Endpoint> endpoint = net::Endpoint::Parse("https://" + authority);
  if (!endpoint.ok() || !endpoint->prefix.empty() || (!has_scheme && !has_port)) {
    return InvalidArgument("{}: {} must be HOST:PORT, http://HOST[:PORT] or https://HOST[:PORT]",
                           where, Printable(gateway));
  }
  endpoint->kind = is_tls ? net::Endpoint::Kind::kTls : net::Endpoint::Kind::kPlain;
  endpoint->port = !is_tls && !has_port ? kHttpPort : endpoint->port;
  return endpoint;
}

// What distributions call their list of authorities.
constexpr std::array kAuthorityFiles = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
constexpr size_t kMaxAuthorities = size_t{4} << 20;
constexpr size_t kMaxTokenFile = size_t{16} << 10;

StatusOr<std::string> NamedFile(std::string_view flag, StatusOr<std::string> text) {
  return text.ok() ? std::move(text) : Annotate(text.status(), "{}", flag);
}

StatusOr<std::string> TokenIn(const std::string& file, const sys::Root& root) {
  ASSIGN_OR_RETURN(const std::string text,
                   NamedFile("--token-file", root.ReadFile(file, kMaxTokenFile)));
  const std::string_view token = Trim(text);
  const bool is_token =
      !token.empty() && std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!is_token) {
    return InvalidArgument("--token-file: {}: must have one token, and nothing else", file);
  }
  return std::string(token);
}

void NoteUnencrypted(const net::Endpoint& endpoint) {
  const StatusOr<sys::TcpAddress> address = sys::TcpAddress::Parse(endpoint.authority());
  const bool is_local = endpoint.host == "localhost" || (address.ok() && address->is_loopback());
  if (endpoint.kind == net::Endpoint::Kind::kPlain && !is_local) {
    PrintNote(fmt::format("the token goes to {} unencrypted: use https://", endpoint.authority()));
  }
}

StatusOr<GatewayTarget> TargetOf(std::string_view where, std::string_view gateway,
                                 const GatewayOptions& options) {
  ASSIGN_OR_RETURN(const net::Endpoint endpoint, EndpointOf(where, gateway));
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  GatewayTarget target{.address = endpoint.authority()};
  if (endpoint.kind == net::Endpoint::Kind::kTls) {
    ASSIGN_OR_RETURN(std::string authorities, ReadAuthorities("--ca-file", options.ca_file, root));
    ASSIGN_OR_RETURN(target.tls, tls::Context::ForClient({.ca_pem = std::move(authorities)}));
  } else if (!options.ca_file.empty()) {
    return InvalidArgument("--ca-file: {} is without TLS: use https://", Printable(gateway));
  }
  if (!options.token_file.empty()) {
    ASSIGN_OR_RETURN(target.token, TokenIn(options.token_file, root));
    NoteUnencrypted(endpoint);
  }
  return target;
}

bool IsSocket(const std::string& address) {
  return address.find('/') != std::string::npos;
}

// Why there is no answer at all, with the fix.
Status Unanswered(const GatewayTarget& target, const Status& status) {
  const std::string& address = target.address;
  if (!IsSocket(address) || status.code() == StatusCode::kInvalidArgument) {
    return status;
  }
  if (status.code() == StatusCode::kPermissionDenied) {
    return PermissionDenied("{}: permission denied: run this command as root", address);
  }
  const bool is_missing =
      status.code() == StatusCode::kNotFound || !sys::IsListening(address).value_or(false);
  return is_missing
             ? Unavailable(
                   "no function service runs on this machine: start it with `kgpu fn up`: {}",
                   Message(status))
             : Unavailable("{}", Message(status));
}

StatusOr<http::Route> RouteOf(const GatewayTarget& target) {
  if (target.is_watchdog) {
    return functions::RouteToWatchdog(target.address);
  }
  if (IsSocket(target.address)) {
    return http::Route::To(target.address);
  }
  ASSIGN_OR_RETURN(const net::Endpoint endpoint, net::Endpoint::Parse("https://" + target.address));
  return net::RouteTo(endpoint, target.tls);
}

http::Request RequestFor(const GatewayTarget& target, http::Request request) {
  request.target = InNamespace(std::move(request.target), target.space);
  if (!target.token.empty()) {
    request.headers.Add("Authorization", "Bearer " + target.token);
  }
  return request;
}

StatusOr<GatewayTarget> AddressedGateway(const GatewayOptions& options,
                                         std::string_view from_file) {
  if (!options.gateway.empty()) {
    return TargetOf("--gateway", options.gateway, options);
  }
  if (!from_file.empty()) {
    return TargetOf("openfx.gateway", from_file, options);
  }
  for (const char* name : {"KGPU_GATEWAY", "OPENFX_URL"}) {
    if (const std::string value = EnvironmentValue(name); !value.empty()) {
      return TargetOf(name, value, options);
    }
  }
  return GatewayTarget{.address = BelowHostRoot(options.run_dir, kRunDir, options.host_root) +
                                  "/functions.sock"};
}

}  // namespace

StatusOr<std::string> ReadAuthorities(std::string_view flag, const std::string& file,
                                      const sys::Root& root) {
  if (!file.empty()) {
    return NamedFile(flag, root.ReadFile(file, kMaxAuthorities));
  }
  for (const char* path : kAuthorityFiles) {
    if (root.Exists(path)) {
      return root.ReadFile(path, kMaxAuthorities);
    }
  }
  return FailedPrecondition(
      "this machine has no list of certificate authorities: name the server's with {}", flag);
}

void AddGatewayOptions(CLI::App& command, GatewayOptions& options) {
  options.run_dir = kRunDir;
  AddValue(
      command, "-g,--gateway", options.gateway, "HOST:PORT",
      "Gateway, also https://HOST:PORT (default: the file's, $KGPU_GATEWAY, $OPENFX_URL, else this "
      "machine's service)");
  AsPath(AddValue(command, "--ca-file", options.ca_file, "FILE",
                  "PEM file with the CA certificates of the gateway (default: the system's)"))
      ->envname("KGPU_CA_FILE");
  AsPath(AddValue(command, "--token-file", options.token_file, "FILE",
                  "File with the token for a gateway"))
      ->envname("KGPU_TOKEN_FILE");
  AddValue(command, "-n,--namespace", options.space, "NAME",
           "Namespace of the functions on a cluster (default: the gateway's first one)");
  AddRunDirOption(command, options.run_dir, "Folder of the service's socket");
  AddHostRootOption(command, options.host_root);
}

std::string InNamespace(std::string target, std::string_view space) {
  if (space.empty()) {
    return target;
  }
  for (const std::string_view prefix : {"/function/", "/async-function/"}) {
    if (target.starts_with(prefix)) {
      const size_t end = std::min(target.find_first_of("/?", prefix.size()), target.size());
      return target.insert(end, fmt::format(".{}", space));
    }
  }
  if (target.starts_with("/system/") && !target.starts_with("/system/info")) {
    target +=
        fmt::format("{}namespace={}", target.find('?') == std::string::npos ? '?' : '&', space);
  }
  return target;
}

StatusOr<GatewayTarget> FindGateway(const GatewayOptions& options, std::string_view from_file) {
  ASSIGN_OR_RETURN(GatewayTarget target, AddressedGateway(options, from_file));
  if (!options.space.empty()) {
    RETURN_IF_ERROR(Annotate(functions::CheckFunctionName(options.space), "--namespace"));
  }
  target.space = options.space;
  return target;
}

StatusOr<http::Response> AskGateway(const GatewayTarget& target, const http::Request& request,
                                    std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(const http::Route route, RouteOf(target));
  StatusOr<http::Response> response =
      http::Fetch(route, RequestFor(target, request), {.timeout = timeout, .max_body = kMaxAnswer});
  return response.ok() ? std::move(response) : Unanswered(target, response.status());
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
    case 401:
      return MakeStatus(
          StatusCode::kUnauthenticated,
          fmt::format("{}: name a file with the token by --token-file or $KGPU_TOKEN_FILE", text));
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

StatusOr<boost::json::value> AskGatewayForJson(const GatewayTarget& target,
                                               const http::Request& request,
                                               std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(const http::Response response, AskGateway(target, request, timeout));
  if (response.code != 200) {
    return GatewayRefusal(response);
  }
  return doc::ParseJson(response.body, "the answer", {.bytes = kMaxAnswer});
}

Status StreamFromGateway(const GatewayTarget& target, const http::Request& request,
                         const StreamHandlers& handlers) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const http::Route route, RouteOf(target));
  bool has_head = false;
  Status result;
  const auto end = [&](const Status& status) {
    result.Update(status);
    loop->Quit();
  };
  const auto call = http::Call::Stream(
      *loop, route, RequestFor(target, request),
      {.on_head =
           [&](int code, const http::Headers& headers) {
             has_head = true;
             handlers.on_head(code, headers);
           },
       .on_data =
           [&](std::string_view bytes) {
             // After an error, more may come before the loop ends.
             if (const Status status = result.ok() ? handlers.on_data(bytes) : result;
                 !status.ok()) {
               end(status);
             }
           },
       .on_end = end},
      {.timeout = std::chrono::milliseconds(0), .max_body = size_t{1} << 40});
  loop->Run();
  return result.ok() || has_head ? result : Unanswered(target, result);
}

}  // namespace kgpu::cli
