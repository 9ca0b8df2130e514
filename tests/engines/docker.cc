#include "tests/engines/docker.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace kgpu::engines {

void DockerEngine::Start(Image& image, const std::vector<std::string>& more) {
  std::vector<std::string> members = {R"("bridge":"none")",
                                      R"("iptables":false)",
                                      R"("ip6tables":false)",
                                      fmt::format(R"("data-root":"{}")", box_.At("data")),
                                      fmt::format(R"("exec-root":"{}")", box_.At("exec")),
                                      fmt::format(R"("pidfile":"{}")", box_.At("docker.pid")),
                                      fmt::format(R"("hosts":["unix://{}"])", socket()),
                                      fmt::format(R"("cgroup-parent":"{}")", box_.cgroup_parent())};
  members.insert(members.end(), more.begin(), more.end());
  box_.dir().WriteFile("daemon.json", fmt::format("{{{}}}", fmt::join(members, ",")));
  box_.StartDaemon({FindProgram("dockerd", origin_), "--config-file", box_.At("daemon.json")});
  ASSERT_TRUE(box_.WaitForSocket(socket())) << box_.log();
  const e2e::Result loaded = Docker({"load", "--input", image.archive()});
  ASSERT_EQ(loaded.code, 0) << loaded.err << box_.log();
}

e2e::Result DockerEngine::Docker(std::vector<std::string> words) const {
  std::vector<std::string> argv = {FindProgram("docker", origin_), "--config", box_.At("client"),
                                   "--host", "unix://" + socket()};
  argv.insert(argv.end(), words.begin(), words.end());
  return e2e::RunProgram(std::move(argv));
}

e2e::Result DockerEngine::Run(const std::vector<std::string>& flags) const {
  std::vector<std::string> words = {"run", "--rm", "--network", "none", "--entrypoint", "/bin/sh"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {kImageName, "/report"});
  return Docker(std::move(words));
}

// On a busy machine Docker loses the output of a container that ends at once ("reading from a
// closed fifo" in its log): what succeeds and prints nothing runs again.
Report DockerEngine::RunReport(const std::vector<std::string>& flags) const {
  e2e::Result result = Run(flags);
  for (int again = 0; again < 2 && result.code == 0 && result.out.empty(); ++again) {
    result = Run(flags);
  }
  Report report = ParseReport(result.out);
  EXPECT_TRUE(report.is_complete) << result.err << result.out << box_.log();
  return report;
}

}  // namespace kgpu::engines
