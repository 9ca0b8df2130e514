#include "src/functions/kubernetes/pod_address.h"

#include <fmt/format.h>

#include <utility>

#include "src/functions/manifests/objects.h"
#include "src/functions/service/proxied_call.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::functions {

std::string WatchdogAddress(std::string_view ip) {
  return ip.find(':') == std::string_view::npos ? fmt::format("{}:{}", ip, kFunctionHttpPort)
                                                : fmt::format("[{}]:{}", ip, kFunctionHttpPort);
}

StatusOr<std::shared_ptr<http::ClientConnection>> ConnectPod(EventLoop& loop,
                                                             const std::string& address) {
  UniqueFd socket;
  if (address.find('/') != std::string::npos) {
    ASSIGN_OR_RETURN(socket, sys::ConnectUnix(address));
  } else {
    ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
    ASSIGN_OR_RETURN(socket, sys::StartConnectTcp(tcp));
  }
  return http::ClientConnection::Open(loop, std::move(socket), nullptr, address, kAnswerLimits);
}

}  // namespace kgpu::functions
