// A server at one address for HTTP/1.1 and HTTP/2 that sends every body back; for load from
// outside.
//   port-echo HOST:PORT [CA_FILE]    with TLS if the authority's certificate is to be written
// Prints the address, and runs until it is killed.
#include <fstream>
#include <iostream>
#include <span>

#include "src/platform/net/port/port.h"
#include "src/platform/net/tls/context.h"
#include "testing/tls/certificates.h"

namespace {

constexpr size_t kManyConnections = 4096;

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() < 2) {
    std::cerr << "usage: port-echo HOST:PORT [CA_FILE]\n";
    return 2;
  }
  const auto loop = kgpu::EpollLoop::Create().value();
  kgpu::port::PortOptions options;
  options.http.max_connections = kManyConnections;
  options.http.max_handshakes = kManyConnections;
  options.http.max_new_handshakes = kManyConnections;
  kgpu::port::Port port(
      *loop,
      [](const kgpu::http::Request& request, const kgpu::http::Responder& responder) {
        responder.Send({.body = request.body});
      },
      [](const kgpu::http::Request& request, const kgpu::h2::Responder& responder) {
        responder.Send({.body = request.body});
      },
      options);
  if (arguments.size() == 2) {
    std::cout << port.Listen(arguments[1]).value() << '\n' << std::flush;
    loop->Run();
    return 0;
  }
  const kgpu::TestAuthority authority;
  const kgpu::TestCertificate leaf = authority.Issue({.names = {"127.0.0.1", "localhost"}});
  const auto context = [&leaf] {
    return kgpu::tls::Context::ForServer(
               {.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
        .value();
  };
  std::ofstream(arguments[2]) << authority.certificate_pem();
  std::cout << port.ListenTls(arguments[1], context).value() << '\n' << std::flush;
  loop->Run();
  return 0;
}
