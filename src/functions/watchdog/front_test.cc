// Both addresses of the watchdog, by HTTP and by gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>

#include "src/functions/watchdog/grpc_front.h"
#include "src/functions/watchdog/http_front.h"
#include "src/functions/watchdog/pool.h"
#include "src/platform/net/h2/test_client.h"
#include "src/platform/net/http/body_budget.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::watchdog {
namespace {

using ::testing::StartsWith;

void Send(const UniqueFd& socket, std::string_view bytes) {
  ASSERT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

std::string Received(const UniqueFd& socket) {
  std::array<char, 4096> bytes{};
  const ssize_t count = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
}

TEST(FrontTest, IncompleteBodiesShareOneLimit) {
  const TempDir dir;
  FakeLoop loop;
  Pool pool(loop, PoolOptions{});
  const auto bodies = std::make_shared<http::BodyBudget>(1'000);
  HttpFront http(loop, pool, {.bodies = bodies});
  GrpcFront grpc(loop, pool, size_t{1} << 20, bodies);
  ASSERT_OK(http.Listen(dir.At("http")));
  ASSERT_OK(grpc.Listen(dir.At("grpc")));

  // Neither of the first two bodies is complete.
  h2::TestClient client;
  client.Request("/pb.FxWatcher/Call", std::string(400, 'x'),
                 {{"content-type", "application/grpc"}});
  std::string call = client.Send();
  call.resize(call.size() - 10);
  UniqueFd by_grpc = sys::ConnectUnix(dir.At("grpc")).value();
  Send(by_grpc, call);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n";
  UniqueFd by_http = sys::ConnectUnix(dir.At("http")).value();
  Send(by_http, head + std::string(400, 'x'));
  loop.RunUntilIdle();
  EXPECT_EQ(bodies->used(), 390U + 400U);

  const UniqueFd refused = sys::ConnectUnix(dir.At("http")).value();
  Send(refused, head + std::string(300, 'x'));
  loop.RunUntilIdle();
  EXPECT_THAT(Received(refused), StartsWith("HTTP/1.1 503 "));

  by_grpc.Reset();
  by_http.Reset();
  loop.RunUntilIdle();
  EXPECT_EQ(bodies->used(), 0U);
}

}  // namespace
}  // namespace kgpu::watchdog
