#include "src/container/engine/runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/find.h"
#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RuntimesTest : public ::testing::Test {
 protected:
  template <typename Ask>
  auto Of(Ask ask) {
    const auto engines = FindEngines(host_.root(), host_.runner(), {});
    EXPECT_THAT(engines, SizeIs(1));
    const auto files = ReadEngineFiles(host_.root(), engines.at(0));
    EXPECT_THAT(files, IsOk());
    const auto tables =
        RuntimeTables::Read(engines.at(0), *files, ReadDaemonFlags(host_.root(), engines.at(0)));
    EXPECT_THAT(tables, IsOk());
    return ask(host_.root(), engines.at(0), *tables);
  }
  RealRuntime Real() { return Of(FindRealRuntime); }
  std::string MissingDefault() { return Of(ExplainMissingDefault).value_or("none"); }
  void AddBoth() {
    host_.AddExecutable("/usr/bin/runc");
    host_.AddExecutable("/usr/bin/crun");
  }
  void AddCrio(const std::string& version) {
    host_.AddProgram("/usr/bin/crio", "crio version " + version + "\n");
  }
  void AddContainerd(const std::string& config) {
    host_.AddProgram("/usr/bin/containerd", "containerd x 1.7.24 y\n");
    host_.folder().WriteFile("etc/containerd/config.toml", "version = 2\n" + config);
  }

  EngineHost host_;
};

// CRI-O's own packages: neither is in a folder of PATH.
TEST_F(RuntimesTest, CriosIsThatOfItsDefaultRuntime) {
  AddCrio("1.30.1");
  for (const char* program : {"crun", "runc", "conmon"}) {
    host_.AddExecutable(std::string("/usr/libexec/crio/") + program);
  }
  host_.folder().WriteFile("etc/crio/crio.conf.d/10-crio.conf",
                           "[crio.runtime]\ndefault_runtime = \"crun\"\n"
                           "[crio.runtime.runtimes.crun]\n"
                           "runtime_path = \"/usr/libexec/crio/crun\"\n"
                           "[crio.runtime.runtimes.runc]\n"
                           "runtime_path = \"/usr/libexec/crio/runc\"\n");
  EXPECT_EQ(Real().path, "/usr/libexec/crio/crun");
}

TEST_F(RuntimesTest, CriosDefaultIsLookedForByItsNameIfNoPathIsGiven) {
  AddCrio("1.30.1");
  const auto write = [this](const std::string& text) {
    host_.folder().WriteFile("etc/crio/crio.conf.d/10-crio.conf", "[crio.runtime]\n" + text);
  };
  write("default_runtime = \"mine\"\n");
  EXPECT_THAT(MissingDefault(),
              HasSubstr("10-crio.conf:2:1: the default runtime mine is not defined"));
  write("default_runtime = \"mine\"\n[crio.runtime.runtimes.mine]\nruntime_type = \"oci\"\n");
  EXPECT_THAT(MissingDefault(), HasSubstr("is mine, which does not exist"));
  host_.AddExecutable("/usr/local/bin/mine");
  EXPECT_EQ(MissingDefault(), "none");
  write("default_runtime = \"crun\"\n");
  EXPECT_THAT(MissingDefault(), HasSubstr("is crun, which does not exist"));
}

TEST_F(RuntimesTest, ContainerdsDefaultIsTheShimOfItsTypeIfNoProgramIsGiven) {
  const std::string table = "[plugins.\"io.containerd.grpc.v1.cri\".containerd";
  const std::string usual = table + "]\ndefault_runtime_name = \"mine\"\n";
  AddContainerd(usual);
  EXPECT_THAT(MissingDefault(),
              HasSubstr("config.toml:3:1: the default runtime mine is not defined"));
  AddContainerd(usual + table + ".runtimes.mine]\nruntime_type = \"io.containerd.runsc.v1\"\n");
  EXPECT_THAT(MissingDefault(), HasSubstr("is containerd-shim-runsc-v1, which does not exist"));
  host_.AddExecutable("/usr/bin/containerd-shim-runsc-v1");
  EXPECT_EQ(MissingDefault(), "none");
  AddContainerd(usual + table + ".runtimes.mine]\nruntime_type = \"io.containerd.runc.v2\"\n");
  EXPECT_THAT(MissingDefault(), HasSubstr("is runc, which does not exist"));
}

TEST_F(RuntimesTest, WithoutAnyConfigurationItIsTheOneThatTheEngineUses) {
  AddBoth();
  AddCrio("1.30.1");
  EXPECT_EQ(Real().path, "/usr/bin/runc");
  AddCrio("1.31.0");
  EXPECT_EQ(Real().path, "/usr/bin/crun");
}

TEST_F(RuntimesTest, PodmansIsCrunIfItIsThere) {
  host_.AddProgram("/usr/bin/podman", "podman version 4.3.1\n");
  AddBoth();
  EXPECT_EQ(Real().path, "/usr/bin/crun");
  host_.folder().WriteFile("etc/containers/containers.conf.d/x.conf",
                           "[engine]\nruntime = \"/usr/bin/runc\"\n");
  host_.folder().WriteFile("etc/containers/containers.conf.d/README", "no configuration\n");
  EXPECT_EQ(Real().path, "/usr/bin/runc");
}

TEST_F(RuntimesTest, ContainerdsIsTheProgramOfItsDefaultRuntime) {
  AddBoth();
  host_.AddExecutable("/opt/bin/runc");
  const std::string table = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc";
  AddContainerd(table + "]\nruntime_type = \"io.containerd.runc.v2\"\n" + table +
                ".options]\nBinaryName = \"/opt/bin/runc\"\n");
  EXPECT_EQ(Real().path, "/opt/bin/runc");
}

// They keep to another command line, or would start kgpu-runtime themselves.
TEST_F(RuntimesTest, ThoseThatIsolateOtherwiseDoNotCount) {
  AddBoth();
  const std::string containerd = "[plugins.\"io.containerd.grpc.v1.cri\".containerd";
  for (const char* program : {"/usr/bin/sysbox-runc", "/usr/bin/nvidia-container-runtime",
                              "/usr/local/bin/kgpu-runtime"}) {
    host_.AddExecutable(program);
    AddContainerd(containerd + "]\ndefault_runtime_name = \"other\"\n" + containerd +
                  ".runtimes.other.options]\nBinaryName = \"" + program + "\"\n");
    EXPECT_EQ(Real().path, "/usr/bin/runc") << program;
  }
}

TEST_F(RuntimesTest, DockersMayBeAFlag) {
  AddBoth();
  host_.AddExecutable("/opt/crun");
  host_.AddProgram("/usr/bin/dockerd", "Docker version 26.1.5, build x\n");
  EXPECT_EQ(Real().path, "/usr/bin/runc");
  host_.AddProcess(5, "dockerd",
                   {"dockerd", "--add-runtime", "mine=/opt/crun", "--default-runtime=mine"});
  EXPECT_EQ(Real().path, "/opt/crun");
}

TEST_F(RuntimesTest, NamesWhatItLookedFor) {
  AddContainerd(
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n"
      "BinaryName = \"/opt/bin/runc\"\n");
  const RealRuntime real = Real();
  EXPECT_EQ(real.path, "");
  EXPECT_THAT(real.wanted, ElementsAre("/opt/bin/runc", "runc", "crun"));

  Plan plan;
  plan.engine = Engine();
  plan.engine->kind = Kind::kContainerd;
  plan.uses_runtime = true;
  plan.real_runtime = real;
  EXPECT_THAT(RuntimesFor({plan}, {"runc"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("containerd: none of /opt/bin/runc, runc, crun found")));
  plan.real_runtime.path = "/opt/bin/runc";
  EXPECT_THAT(RuntimesFor({plan}, {"runc", "crun"}),
              IsOkAndHolds(ElementsAre("/opt/bin/runc", "runc", "crun")));
}

}  // namespace
}  // namespace kgpu::engine
