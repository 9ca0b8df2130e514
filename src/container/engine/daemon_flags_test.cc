#include "src/container/engine/daemon_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

auto Flag(const std::string& name, const std::string& value, const std::string& where) {
  return AllOf(Field(&DaemonFlag::name, name), Field(&DaemonFlag::value, value),
               Field(&DaemonFlag::where, where));
}

TEST(DaemonFlagsTest, AreThoseOfTheUnitAndOfTheProcess) {
  EngineHost host;
  host.folder().WriteFile("usr/lib/systemd/system/docker.service",
                          "[Service]\nExecStart=/usr/bin/dockerd -H fd:// --debug\n");
  Engine engine;
  engine.unit = "docker.service";
  host::Daemon daemon;
  daemon.pid = 7;
  daemon.name = "dockerd";
  daemon.argv = {"dockerd", "-H", "fd://", "--add-runtime=nvidia=/usr/bin/x"};
  engine.daemon = daemon;

  const auto flags = ReadDaemonFlags(host.root(), engine);

  EXPECT_THAT(flags,
              ElementsAre(Flag("-H", "fd://", "/usr/lib/systemd/system/docker.service:2"),
                          Flag("--debug", "", "/usr/lib/systemd/system/docker.service:2"),
                          Flag("--add-runtime", "nvidia=/usr/bin/x", "process 7 (dockerd)")));
  EXPECT_EQ(flags.at(2).Text(), "--add-runtime=nvidia=/usr/bin/x");
  EXPECT_THAT(Named(flags, {"--debug", "-D"}), ElementsAre(Field(&DaemonFlag::name, "--debug")));
}

TEST(FindForEngineTest, LooksWhereTheEngineLooks) {
  EngineHost host;
  Engine engine;
  EXPECT_EQ(FindForEngine(host.root(), engine, "runc"), "");

  host.folder().WriteFile("usr/bin/runc", "");
  EXPECT_EQ(FindForEngine(host.root(), engine, "runc"), "") << "it cannot be executed";
  host.AddExecutable("/usr/bin/runc");
  EXPECT_EQ(FindForEngine(host.root(), engine, "runc"), "/usr/bin/runc");
  EXPECT_EQ(FindForEngine(host.root(), engine, "/opt/bin/runc"), "");

  host.AddExecutable("/srv/tools/runc");
  host.folder().WriteFile("proc/9/environ", std::string("HOME=/\0PATH=x:/srv/tools:/bin\0", 30));
  host::Daemon daemon;
  daemon.pid = 9;
  engine.daemon = daemon;
  EXPECT_EQ(FindForEngine(host.root(), engine, "runc"), "/srv/tools/runc");

  host.AddExecutable("/var/lib/k0s/bin/runc");
  engine.programs_folder = "/var/lib/k0s/bin";
  EXPECT_EQ(FindForEngine(host.root(), engine, "runc"), "/var/lib/k0s/bin/runc");
}

}  // namespace
}  // namespace kgpu::engine
