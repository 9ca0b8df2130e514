#include "src/container/engine/unit_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<UnitArgument>& arguments) {
  std::vector<std::string> texts;
  for (const UnitArgument& argument : arguments) {
    texts.push_back(argument.text);
  }
  return texts;
}

TEST(UnitCommandTest, ADropInReplacesTheCommandOfTheUnit) {
  EngineHost host;
  host.folder().WriteFile("usr/lib/systemd/system/docker.service",
                          "[Unit]\nExecStart=/no\n[Service]\n# a comment\n"
                          "ExecStart=/usr/bin/dockerd -H fd:// \\\n   --debug\n");
  EXPECT_THAT(Texts(ReadUnitCommand(host.root(), "docker.service")),
              ElementsAre("/usr/bin/dockerd", "-H", "fd://", "--debug"));

  host.folder().WriteFile("etc/systemd/system/docker.service.d/gpu.conf",
                          "[Service]\nExecStart=\n"
                          "ExecStart=-/usr/bin/dockerd --label \"a b\" --default-runtime=nvidia\n");
  const auto arguments = ReadUnitCommand(host.root(), "docker.service");

  EXPECT_THAT(Texts(arguments),
              ElementsAre("/usr/bin/dockerd", "--label", "a b", "--default-runtime=nvidia"));
  EXPECT_EQ(arguments.at(3).where, "/etc/systemd/system/docker.service.d/gpu.conf:3");
}

TEST(UnitCommandTest, OfTwoDropInsOfOneNameTheAdminsCounts) {
  EngineHost host;
  host.folder().WriteFile("lib/systemd/system/docker.service", "[Service]\nExecStart=/a\n");
  host.folder().WriteFile("lib/systemd/system/docker.service.d/x.conf",
                          "[Service]\nExecStart=\nExecStart=/b\n");
  EXPECT_THAT(Texts(ReadUnitCommand(host.root(), "docker.service")), ElementsAre("/b"));

  host.folder().WriteFile("etc/systemd/system/docker.service.d/x.conf", "");
  EXPECT_THAT(Texts(ReadUnitCommand(host.root(), "docker.service")), ElementsAre("/a"));
}

// As the units of Amazon Linux and RHEL.
TEST(UnitCommandTest, VariablesComeFromItsFiles) {
  EngineHost host;
  host.folder().WriteFile("usr/lib/systemd/system/docker.service",
                          "[Service]\n"
                          "Environment=\"MORE=--debug -l warn\" NAME=x\n"
                          "EnvironmentFile=-/etc/sysconfig/docker\n"
                          "EnvironmentFile=-/etc/sysconfig/none\n"
                          "ExecStart=/usr/bin/dockerd $OPTIONS --label=${NAME}y $MORE $UNSET\n");
  host.folder().WriteFile("etc/sysconfig/docker",
                          "# options\nOPTIONS=\"--default-runtime nvidia\"\n");

  const auto arguments = ReadUnitCommand(host.root(), "docker.service");

  EXPECT_THAT(Texts(arguments), ElementsAre("/usr/bin/dockerd", "--default-runtime", "nvidia",
                                            "--label=xy", "--debug", "-l", "warn"));
  EXPECT_EQ(arguments.at(1).where, "/etc/sysconfig/docker:2");
}

TEST(UnitCommandTest, AUnitThatIsNotThereStartsNothing) {
  EngineHost host;
  EXPECT_THAT(ReadUnitCommand(host.root(), "docker.service"), IsEmpty());
  EXPECT_THAT(ReadUnitCommand(host.root(), ""), IsEmpty());
  EXPECT_FALSE(HasUnit(host.root(), "docker.service"));
}

}  // namespace
}  // namespace kgpu::engine
