#include "src/cluster/gpus/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/gpus/groups.h"
#include "src/cluster/gpus/test_objects.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::gpus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The stub API server, some of whose collections may be forbidden.
class ForbiddingClient final : public kube::Client {
 public:
  explicit ForbiddingClient(kube::Client& client) : client_(client) {}
  void Forbid(const std::string& path) { forbidden_.push_back(path); }
  size_t requests() const { return requests_; }

  std::unique_ptr<kube::Call> Send(kube::ApiRequest request, Done done) override {
    ++requests_;
    for (const std::string& path : forbidden_) {
      if (request.path.find(path) != std::string::npos) {
        request.path = "/api/v1/namespaces/none/configmaps/none";
        return client_.Send(std::move(request), [path, done = std::move(done)](const auto&) {
          done(PermissionDenied("{} is forbidden", path));
        });
      }
    }
    return client_.Send(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Call> Stream(kube::ApiRequest request,
                                     kube::StreamHandlers handlers) override {
    return client_.Stream(std::move(request), std::move(handlers));
  }

 private:
  kube::Client& client_;
  std::vector<std::string> forbidden_;
  size_t requests_ = 0;
};

class ReaderTest : public ::testing::Test {
 protected:
  void Create(const std::string& path, const std::string& yaml) {
    EXPECT_OK(cluster_.client.Send({.method = "POST",
                                    .path = path,
                                    .content_type = "application/json",
                                    .body = boost::json::serialize(Parsed(yaml))}));
  }
  StatusOr<Summary> Read() {
    std::optional<StatusOr<Summary>> result;
    ClusterReader reader(client_, [&](StatusOr<Summary> summary) { result = std::move(summary); });
    for (int i = 0; !result && i < 600'000; ++i) {
      cluster_.loop.Advance(std::chrono::milliseconds(1));
    }
    return result ? *std::move(result) : DeadlineExceeded("no summary");
  }

  kube::TestCluster cluster_;
  ForbiddingClient client_{cluster_.http};
};

TEST_F(ReaderTest, ReadsInChunks) {
  constexpr uint64_t kNodes = 510;  // more than a chunk
  for (uint64_t i = 0; i < kNodes; ++i) {
    Create("/api/v1/nodes", GpuNodeText(fmt::format("n{}", i), 8, 8));
  }
  Create("/api/v1/namespaces/default/pods", GpuPodText("default", "p", "n1", 2));
  const auto summary = Read();
  ASSERT_OK(summary);
  EXPECT_EQ(TotalOf(*summary), (Counts{.total = 8 * kNodes, .used = 2, .free = 8 * kNodes - 2}));
  EXPECT_THAT(summary->unreadable, IsEmpty());
}

TEST_F(ReaderTest, SaysWhatCouldNotBeRead) {
  Create("/api/v1/nodes", GpuNodeText("n1", 8, 8));
  client_.Forbid("/pods");
  const auto summary = Read();
  ASSERT_OK(summary);
  EXPECT_EQ(TotalOf(*summary).free, 8U);
  EXPECT_THAT(summary->unreadable, ElementsAre(HasSubstr("pods: /pods is forbidden")));
}

TEST_F(ReaderTest, NodesAreNeeded) {
  client_.Forbid("/nodes");
  EXPECT_THAT(Message(Read().status()), HasSubstr("/nodes is forbidden"));
}

}  // namespace
}  // namespace kgpu::gpus
