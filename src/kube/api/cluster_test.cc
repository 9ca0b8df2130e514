#include "src/kube/api/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/kube/api/json.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/net/http/server.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"
#include "testing/tls/tls_front.h"

namespace kgpu::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A whole way over real sockets: kubeconfig, token file, TLS, an answer.
class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() {
    EXPECT_OK(server_.Listen(dir_.At("s")));
    const TestCertificate leaf = authority_.Issue({.names = {"127.0.0.1"}});
    front_ = TlsFront::Listen(*server_loop_, "127.0.0.1:0",
                              tls::Context::ForServer({.certificate_pem = leaf.certificate_pem,
                                                       .key_pem = leaf.key_pem})
                                  .value(),
                              dir_.At("s"))
                 .value();
    serving_ = std::jthread([this] { server_loop_->Run(); });
    dir_.WriteFile("ca.crt", authority_.certificate_pem());
    dir_.WriteFile("token", "t1");
    WriteConfig(fmt::format("https://{}", front_->address()));
  }
  ~ClusterTest() override { server_loop_->Quit(); }

  void WriteConfig(const std::string& server) {
    dir_.WriteFile("config", fmt::format(R"(
current-context: x
clusters: [{{name: c, cluster: {{server: "{}", certificate-authority: ca.crt}}}}]
users: [{{name: u, user: {{tokenFile: token}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u, namespace: gpu}}}}]
)",
                                         server));
  }
  StatusOr<std::unique_ptr<Cluster>> Open() {
    return Cluster::Open(*loop_, random_, root_, {.sources = {.kubeconfig = "/config"}});
  }
  static void Serve(const http::Request& request, const http::Responder& responder) {
    const std::string sent(request.headers.Find("Authorization").value_or(""));
    if (sent != "Bearer t2") {
      return responder.Send(http::JsonResponse(
          401, R"({"kind":"Status","code":401,"reason":"Unauthorized","message":"who?"})"));
    }
    responder.Send(
        http::JsonResponse(200, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", request.path)));
  }

  TempDir dir_;
  sys::Root root_ = sys::Root::Open(dir_.path()).value();
  const TestAuthority authority_;
  std::unique_ptr<EpollLoop> server_loop_ = EpollLoop::Create().value();
  http::Server server_{*server_loop_, &ClusterTest::Serve};
  std::unique_ptr<TlsFront> front_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  Random random_{1};
  std::jthread serving_;
};

TEST_F(ClusterTest, AsksAServer) {
  dir_.WriteFile("token", "t2");
  const auto cluster = Open();
  ASSERT_OK(cluster);
  EXPECT_EQ((*cluster)->server(), "https://" + front_->address());
  EXPECT_EQ((*cluster)->source(), "/config");
  EXPECT_EQ((*cluster)->space(), "gpu");
  for (int i = 0; i < 3; ++i) {
    const auto answer = Fetch(*loop_, (*cluster)->client(), {.path = "/api/v1/nodes"});
    ASSERT_OK(answer);
    EXPECT_EQ(NameOf(*answer), "/api/v1/nodes");
  }
}

TEST_F(ClusterTest, ReadsANewTokenWhenTheServerRefusesTheOld) {
  const auto cluster = Open();
  ASSERT_OK(cluster);
  EXPECT_THAT(Fetch(*loop_, (*cluster)->client(), {.path = "/a"}),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("who?")));
  dir_.WriteFile("token", "t2");
  EXPECT_OK(Fetch(*loop_, (*cluster)->client(), {.path = "/a"}));
}

TEST_F(ClusterTest, SaysWhoIsNotTrusted) {
  const TestAuthority other;
  dir_.WriteFile("ca.crt", other.certificate_pem());
  const auto cluster = Open();
  ASSERT_OK(cluster);
  EXPECT_THAT(Fetch(*loop_, (*cluster)->client(), {.path = "/a"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("GET /a: https://127.0.0.1:"),
                             HasSubstr("is from an untrusted authority"))));
}

TEST_F(ClusterTest, SaysWhichFileHasAnAddressThatIsNone) {
  WriteConfig("ftp://h");
  EXPECT_THAT(Open(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("/config: server: ftp://h")));
}

}  // namespace
}  // namespace kgpu::kube
