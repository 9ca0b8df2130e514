#include "src/functions/replicas/watchdog_route.h"

#include <memory>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::functions {
namespace {

bool IsSocket(const std::string& address) {
  return address.find('/') != std::string::npos;
}

}  // namespace

StatusOr<UniqueFd> ConnectToWatchdog(const std::string& address) {
  if (IsSocket(address)) {
    return sys::ConnectUnix(address, sys::Links::kRefuse);
  }
  ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
  return sys::StartConnectTcp(tcp);
}

http::Route RouteToWatchdog(const std::string& address) {
  http::Route route = http::Route::To(address);
  if (IsSocket(address)) {
    route.connect = [address](EventLoop&,
                              const http::Route::Connected& connected) -> std::shared_ptr<void> {
      connected(ConnectToWatchdog(address));
      return nullptr;
    };
  }
  return route;
}

}  // namespace kgpu::functions
