// The service that commands of `kgpu fn` speak to: this machine's, or a gateway somewhere else.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/root.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct GatewayOptions {
  std::string gateway;  // "host:port", "http://…" or "https://…"; empty: this machine's service
  std::string ca_file;
  std::string token_file;
  std::string space;  // namespace; empty: the gateway's default one
  std::string run_dir;
  std::string host_root;
};

// -g/--gateway, --ca-file, --token-file, -n/--namespace, --run-dir, --host-root; `options` must
// outlive the parse.
void AddGatewayOptions(CLI::App& command, GatewayOptions& options);

// The authorities, as PEM, that sign the certificate of a server: those of the file that `flag`
// names, or, if it is empty, those that this machine trusts. Errors: those of the file;
// FailedPrecondition (this machine has no list of them).
StatusOr<std::string> ReadAuthorities(std::string_view flag, const std::string& file,
                                      const sys::Root& root);

// Where requests go, and as whom.
struct GatewayTarget {
  std::string address;                        // the path of a socket, or "host:port"
  std::shared_ptr<const tls::Context> tls{};  // null: plain HTTP
  std::string token{};                        // empty: none
  std::string space{};                        // namespace; empty: the gateway's default one
  bool is_watchdog = false;                   // of a container, instead of a service
};

// The target of a request for a function of this namespace: "/function/hello.team-a/path",
// "/system/functions?namespace=team-a". Requests about all functions stay as they are.
std::string InNamespace(std::string target, std::string_view space);

// Of the flag, else `from_file` (a config.yaml's), else $KGPU_GATEWAY, else $OPENFX_URL, else the
// socket of this machine. Errors: InvalidArgument; those of the files with authorities and token;
// FailedPrecondition (https, but this machine has no list of authorities).
StatusOr<GatewayTarget> FindGateway(const GatewayOptions& options, std::string_view from_file = "");

// The answer, whatever its code. Errors: Unavailable (nobody answers: with the fix),
// PermissionDenied, DeadlineExceeded, FailedPrecondition (the certificate cannot be trusted).
StatusOr<http::Response> AskGateway(const GatewayTarget& target, const http::Request& request,
                                    std::chrono::milliseconds timeout = std::chrono::seconds(30));
// The body of an answer with code 200. Errors: also those that the service reports.
StatusOr<boost::json::value> AskGatewayForJson(
    const GatewayTarget& target, const http::Request& request,
    std::chrono::milliseconds timeout = std::chrono::seconds(30));

// Why an answer is none: the text of the service, with the code that its HTTP code stands for.
Status GatewayRefusal(const http::Response& response);

struct StreamHandlers {
  std::function<void(int code, const http::Headers&)> on_head;
  std::function<Status(std::string_view)> on_data;  // an error ends the exchange
};
// Gives the answer on piece by piece, without a limit in time or size. Errors: as AskGateway;
// Unavailable (the answer was cut off); those of on_data.
Status StreamFromGateway(const GatewayTarget& target, const http::Request& request,
                         const StreamHandlers& handlers);

}  // namespace kgpu::cli
