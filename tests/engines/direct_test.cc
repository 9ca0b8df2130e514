// runc and crun by themselves: what our CDI specs say, written into a config.json as an engine that
// reads CDI does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/container/cdi/folder.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "testing/kubelet/cdi_resolver.h"
#include "testing/kubelet/oci_config.h"
#include "testing/status_matchers.h"
#include "tests/e2e/sim_host.h"
#include "tests/engines/box.h"
#include "tests/engines/image.h"
#include "tests/engines/matchers.h"

namespace kgpu::engines {
namespace {

using e2e::ImageFamily;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Pair;

class DirectTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({GetParam()}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    if (GetParam() == "crun") {
      box_.UseOneCgroupHierarchy();
    }
  }

  // The report of a container of `image` that is given the CDI devices `names` of `host`.
  Report Run(const Image& image, const e2e::SimHost& host, const std::vector<std::string>& names) {
    const e2e::Result generated = host.Kgpu({"cdi", "generate"});
    EXPECT_EQ(generated.code, 0) << generated.err;
    const std::string bundle = std::filesystem::path(image.rootfs()).parent_path();
    WriteConfig(bundle, ConfigWith(host.path(), names));
    const e2e::Result result = box_.Run({FindProgram(GetParam()), "--root", box_.At("state"), "run",
                                         "--bundle", bundle, "kgpu-direct"});
    Report report = ParseReport(result.out);
    EXPECT_TRUE(report.is_complete) << result.err << result.out;
    return report;
  }

 private:
  static std::string ConfigWith(const std::string& host, const std::vector<std::string>& names) {
    const auto host_root = sys::Root::Open(host);
    const auto root = sys::Root::Open("/");
    const auto edits = kubelet::ResolveCdi(cdi::ReadFolders(*host_root, {"/run/cdi"}), names);
    EXPECT_OK(edits);
    kubelet::OciRequest request;
    request.hostname = "direct";
    request.args = {"/bin/sh", "/report"};
    request.env = {"PATH=/bin:/usr/bin"};
    request.cdi_edits = edits.ok() ? *edits : std::vector<cdi::ContainerEdits>();
    const auto config = kubelet::OciConfigText(request, *root);
    EXPECT_OK(config);
    return config.ok() ? *config : "{}";
  }
  // With a cgroup that goes with the box.
  void WriteConfig(const std::string& bundle, const std::string& text) {
    auto config = doc::Parse(text, doc::Format::kJson, "config.json");
    ASSERT_OK(config);
    config->at("linux").as_object()["cgroupsPath"] = box_.cgroup_parent() + "/direct";
    std::ofstream(bundle + "/config.json") << boost::json::serialize(*config);
  }

  EngineBox box_;
};
INSTANTIATE_TEST_SUITE_P(Direct, DirectTest, ::testing::Values("runc", "crun"),
                         [](const ::testing::TestParamInfo<std::string>& parameter) {
                           return parameter.param;
                         });

TEST_P(DirectTest, GivesExactlyTheGpusNamed) {
  const e2e::SimHost host("4xT4", {"--with", "imex=2,gds,gdrcopy,mofed"});
  const Image image;
  const Report report = Run(image, host,
                            {"kgpu.dev/gpu=0", "kgpu.dev/gpu=3", "kgpu.dev/imex-channel=1",
                             "kgpu.dev/gds=all", "kgpu.dev/gdrcopy=all", "kgpu.dev/mofed=all"});
  EXPECT_THAT(report, AllOf(HasGpus(Gpus{0, 3}), FindsLibrariesIn("linux-gnu")));
  EXPECT_THAT(report.env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(report.nodes, IsSupersetOf({"nvidia-caps-imex-channels/channel1", "nvidia-fs0",
                                          "gdrdrv", "infiniband/uverbs0"}));
}

TEST_P(DirectTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  const e2e::SimHost host("4xT4", {"--distro", "rhel"});
  const Image image({.family = ImageFamily::kRhelLike});
  EXPECT_THAT(Run(image, host, {"kgpu.dev/gpu=all"}),
              AllOf(HasGpus(Gpus{0, 1, 2, 3}), FindsLibrariesIn("lib64")));
}

TEST_P(DirectTest, AContainerWithoutGpusOpensNone) {
  const e2e::SimHost host("4xT4");
  const Image image;
  EXPECT_THAT(Run(image, host, {}), HasGpus(Gpus{}));
}

}  // namespace
}  // namespace kgpu::engines
