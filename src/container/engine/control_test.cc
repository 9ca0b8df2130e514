#include "src/container/engine/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Engine Docker(const std::string& unit) {
  Engine engine;
  engine.program = "/usr/bin/dockerd";
  engine.version = Version{20, 10, 24};
  engine.unit = unit;
  engine.config_file = "/etc/docker/daemon.json";
  return engine;
}

TEST(SystemControlTest, AsksSystemdWhereThereIsAUnit) {
  EngineHost host;
  host.AddSystemd({"docker.service"});
  SystemControl control(host.root(), host.runner(), {});

  EXPECT_OK(control.Restart(Docker("docker.service")));
  EXPECT_OK(control.Reload(Docker("docker.service")));
  EXPECT_OK(control.ReloadUnits());

  EXPECT_THAT(
      host.runner().commands(),
      ElementsAre("/usr/bin/systemctl reset-failed docker.service",
                  "/usr/bin/systemctl restart docker.service",
                  "/usr/bin/systemctl reload docker.service", "/usr/bin/systemctl daemon-reload"));
}

TEST(SystemControlTest, SaysWhatSystemdSaid) {
  EngineHost host;
  host.AddSystemd({"docker.service"});
  host.runner().Answer("/usr/bin/systemctl restart", "", 1, "Job for docker.service failed.\n");
  SystemControl control(host.root(), host.runner(), {});

  EXPECT_THAT(control.Restart(Docker("docker.service")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("Job for docker.service failed.")));
}

TEST(SystemControlTest, TakesTheInitScriptElse) {
  EngineHost host;
  host.folder().WriteFile("usr/sbin/service", "");
  host.folder().WriteFile("etc/init.d/docker", "");
  host.runner().Answer("/usr/sbin/service", "");
  SystemControl control(host.root(), host.runner(), {});

  EXPECT_OK(control.CheckWay(Docker(""), true));
  EXPECT_OK(control.Restart(Docker("")));

  EXPECT_THAT(host.runner().commands(), ElementsAre("/usr/sbin/service docker restart"));
}

TEST(SystemControlTest, TheAdminsCommandGoesBeforeAll) {
  EngineHost host;
  host.AddSystemd({"docker.service"});
  host.runner().Answer("/opt/restart", "");
  SystemControl control(host.root(), host.runner(), {"/opt/restart", "docker"});

  EXPECT_OK(control.Restart(Docker("docker.service")));

  EXPECT_THAT(host.runner().commands(), ElementsAre("/opt/restart docker"));
}

TEST(SystemControlTest, KnowsBeforehandThatThereIsNoWay) {
  EngineHost host;
  SystemControl control(host.root(), host.runner(), {});

  EXPECT_THAT(control.CheckWay(Docker(""), true),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--restart-with COMMAND")));
  EXPECT_THAT(control.CheckWay(Docker(""), false), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_OK(control.ReloadUnits());
  EXPECT_THAT(host.runner().commands(), IsEmpty());
}

TEST(SystemControlTest, SendsSighupOnlyToTheProcessThatItFound) {
  EngineHost host;
  host.AddProcess(1, "dockerd", {"dockerd"});  // by its number it is another one here
  SystemControl control(host.root(), host.runner(), {});
  Engine engine = Docker("");
  host::Daemon daemon;
  daemon.pid = 1;
  daemon.name = "dockerd";
  engine.daemon = daemon;

  EXPECT_THAT(control.Reload(engine),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("kill -HUP 1 on the host")));
}

TEST(StartCommandTest, IsOfTheServiceManagerThatTheHostHas) {
  EngineHost host;
  Engine containerd = Docker("");
  containerd.kind = Kind::kContainerd;
  containerd.program = "/usr/bin/containerd";
  Engine k3s = containerd;
  k3s.distribution = "k3s";
  EXPECT_EQ(StartCommand(host.root(), containerd),
            "/usr/bin/containerd   # no service manager found");
  k3s.program.clear();
  EXPECT_THAT(StartCommand(host.root(), k3s), HasSubstr("# start containerd (k3s) by hand"));

  host.folder().WriteFile("etc/init.d/k3s", "");
  host.folder().WriteFile("etc/init.d/containerd", "");
  EXPECT_EQ(StartCommand(host.root(), k3s), "/etc/init.d/k3s start");
  host.folder().WriteFile("sbin/rc-service", "");
  EXPECT_EQ(StartCommand(host.root(), containerd), "/sbin/rc-service containerd start");
  EXPECT_EQ(CommandFor(host.root(), containerd, true), "/sbin/rc-service containerd restart");

  host.AddSystemd({"docker.service"});
  EXPECT_EQ(StartCommand(host.root(), Docker("docker.service")), "systemctl start docker.service");
  EXPECT_EQ(StartCommand(host.root(), containerd), "systemctl start containerd");
  EXPECT_EQ(StartCommand(host.root(), k3s), "systemctl start k3s");
}

TEST(ValidateTest, EnginesCheckTheirOwnFilesWhereTheyCan) {
  Engine docker = Docker("");
  EXPECT_EQ(ValidateCommand(docker), std::nullopt);  // 20.10 has no such flag
  docker.version = Version{23, 0, 0};
  EXPECT_THAT(ValidateCommand(docker),
              ::testing::Optional(ElementsAre("/usr/bin/dockerd", "--validate", "--config-file",
                                              "/etc/docker/daemon.json")));
  host::Daemon daemon;
  daemon.argv = {"dockerd",
                 "--config-file",
                 "/x.json",
                 "-H",
                 "fd://",
                 "--config-file=/y.json",
                 "--default-runtime=runc"};
  docker.daemon = daemon;
  EXPECT_THAT(ValidateCommand(docker),
              ::testing::Optional(ElementsAre("/usr/bin/dockerd", "--validate", "--config-file",
                                              "/etc/docker/daemon.json", "-H", "fd://",
                                              "--default-runtime=runc")));
}

TEST(ValidateTest, AGeneratedFileIsCheckedWhereItImportsOurs) {
  Engine k3s;
  k3s.kind = Kind::kContainerd;
  k3s.program = "/bin/containerd";
  k3s.version = Version{2, 1, 0};
  k3s.is_template = true;
  k3s.config_file = "/x/config-v3.toml.tmpl";
  k3s.generated_file = "/x/config.toml";
  EXPECT_EQ(ValidateCommand(k3s), std::nullopt);
  k3s.drop_in_folder = "/x/config-v3.toml.d";
  EXPECT_THAT(ValidateCommand(k3s),
              ::testing::Optional(
                  ElementsAre("/bin/containerd", "--config", "/x/config.toml", "config", "dump")));
}

}  // namespace
}  // namespace kgpu::engine
