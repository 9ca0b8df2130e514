// Route B: plugins that are found by their sockets below plugins_registry.
#include <algorithm>
#include <atomic>
#include <filesystem>

#include "testing/kubelet/kubelet_fixture.h"

namespace kgpu::kubelet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatcherTest : public KubeletFixture {
 protected:
  std::string Folder() const { return kubelet_.layout().plugins_registry(); }
  SamplePlugin::Options Registrar(const std::string& name = "widget.sock") const {
    SamplePlugin::Options options;
    options.socket_path = Folder() + "/" + name;
    options.devices = SamplePlugin::Devices(2);
    options.is_registrar = true;
    return options;
  }
  bool HasCallWith(const std::string& method, const std::string& text) const {
    for (const CallRecord& call : kubelet_.Calls()) {
      if (call.method == method && call.arguments.find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }
  bool HasOpenStream() const {
    return std::ranges::any_of(kubelet_.Calls(), [](const CallRecord& call) {
      return call.method == "ListAndWatch" && !call.reply.has_value();
    });
  }
};

TEST_F(WatcherTest, ASocketIsFoundAskedAndReported) {
  const SamplePlugin plugin(Registrar());
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_TRUE(kubelet_.WaitForCalls("NotifyRegistrationStatus", 1));
  EXPECT_TRUE(HasCallWith("NotifyRegistrationStatus", "registered"));
  EXPECT_EQ(kubelet_.CallCount("Register"), 0);
  EXPECT_THAT(kubelet_.WatchedPlugins(), SizeIs(1));
}

TEST_F(WatcherTest, SocketsThatAreThereAtTheStartSurviveIt) {
  kubelet_.Stop();
  const SamplePlugin plugin(Registrar());
  ASSERT_OK(kubelet_.Start());
  EXPECT_TRUE(WaitForWidgets(2, 2));
  ASSERT_OK(kubelet_.Restart());
  EXPECT_TRUE(WaitForWidgets(2, 2));
}

TEST_F(WatcherTest, FoldersBelowAreWatchedAndHiddenNamesAreNot) {
  const SamplePlugin hidden(Registrar(".hidden.sock"));
  std::filesystem::create_directories(Folder() + "/deep/er");
  const SamplePlugin plugin(Registrar("deep/er/widget.sock"));
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_FALSE(HasCallWith("GetInfo", "hidden"));
  // Twice if the folder is read before the event of its socket arrives, as with a real kubelet.
  EXPECT_LE(kubelet_.CallCount("GetInfo"), 2);
}

TEST_F(WatcherTest, TheServiceMayBeOnASocketOfItsOwn) {
  SamplePlugin::Options service;
  service.socket_path = kubelet_.layout().plugins() + "/service.sock";
  service.devices = SamplePlugin::Devices(3);
  const SamplePlugin served(service);
  SamplePlugin::Options options = Registrar();
  options.endpoint = service.socket_path;
  const SamplePlugin registrar(options);
  EXPECT_TRUE(WaitForWidgets(3, 3));
  EXPECT_EQ(registrar.streams(), 0);
}

TEST_F(WatcherTest, UnlinkingTheSocketDeregisters) {
  const SamplePlugin plugin(Registrar());
  ASSERT_TRUE(WaitForWidgets(2, 2));
  std::filesystem::remove(Folder() + "/widget.sock");
  EXPECT_TRUE(WaitForWidgets(0, 2));
  EXPECT_TRUE(kubelet_.WaitFor([&] { return kubelet_.WatchedPlugins().empty(); }));
}

TEST_F(WatcherTest, RenamingTheSocketAwayIsNotNoticed) {
  const SamplePlugin plugin(Registrar());
  ASSERT_TRUE(kubelet_.WaitForCalls("NotifyRegistrationStatus", 1));
  std::filesystem::rename(Folder() + "/widget.sock", dir_.At("elsewhere"));
  EXPECT_FALSE(kubelet_.WaitFor([&] { return kubelet_.WatchedPlugins().empty(); },
                                std::chrono::milliseconds(50)));
}

TEST_F(WatcherTest, ALostConnectionIsNotRepaired) {
  const SamplePlugin plugin(Registrar());
  ASSERT_TRUE(WaitForWidgets(2, 2));
  ASSERT_TRUE(kubelet_.DropStream(kWidget));
  ASSERT_TRUE(WaitForWidgets(0, 2));
  EXPECT_FALSE(kubelet_.WaitForCalls("ListAndWatch", 2, std::chrono::milliseconds(50)));
}

TEST_F(WatcherTest, ANewIncarnationReplacesTheOldOne) {
  auto plugin = std::make_unique<SamplePlugin>(Registrar());
  ASSERT_TRUE(WaitForWidgets(2, 2));
  plugin.reset();
  SamplePlugin::Options options = Registrar();
  options.devices = SamplePlugin::Devices(5);
  plugin = std::make_unique<SamplePlugin>(options);
  EXPECT_TRUE(WaitForWidgets(5, 5));
}

TEST_F(WatcherTest, AFailingGetInfoIsTriedAgain) {
  std::atomic<int> left = 2;
  const SamplePlugin plugin(
      Registrar(), {.get_info = [&left] { return left-- > 0 ? Internal("not yet") : OkStatus(); }});
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_EQ(kubelet_.CallCount("GetInfo"), 3);
}

TEST_F(WatcherTest, ARefusedNotificationDeregistersAndIsTriedAgain) {
  std::atomic<int> left = 1;
  SamplePlugin::Behaviour behaviour;
  behaviour.notify = [&left] { return left-- > 0 ? Internal("not yet") : OkStatus(); };
  // The kubelet goes by names: the end of the old stream would take the new plugin along.
  behaviour.get_info = [this] { return HasOpenStream() ? Internal("not yet") : OkStatus(); };
  const SamplePlugin plugin(Registrar(), behaviour);
  EXPECT_TRUE(kubelet_.WaitForCalls("NotifyRegistrationStatus", 2));
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), 2);
}

TEST_F(WatcherTest, ALostAnswerIsAskedForAgain) {
  for (const char* point : {kGetInfoPoint, kNotifyPoint}) {
    kubelet_.Inject(point, {.kind = FaultKind::kError, .text = "lost", .times = 1});
  }
  SamplePlugin::Options options = Registrar();
  SamplePlugin::Behaviour behaviour;
  behaviour.get_info = [this] { return HasOpenStream() ? Internal("not yet") : OkStatus(); };
  const SamplePlugin plugin(options, behaviour);
  EXPECT_TRUE(kubelet_.WaitForCalls("NotifyRegistrationStatus", 2));
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_GE(kubelet_.CallCount("GetInfo"), 3);
}

TEST_F(WatcherTest, WhatIsNotValidIsReportedToThePlugin) {
  SamplePlugin::Options old = Registrar("old.sock");
  old.versions = {"v1alpha"};
  SamplePlugin::Options odd = Registrar("odd.sock");
  odd.type = "OddPlugin";
  SamplePlugin::Options unnamed = Registrar("unnamed.sock");
  unnamed.resource = "widget";
  const SamplePlugin first(old);
  const SamplePlugin second(odd);
  const SamplePlugin third(unnamed);
  for (const char* text : {"v1beta1", "OddPlugin", "\"widget\" is invalid"}) {
    EXPECT_TRUE(kubelet_.WaitFor([&] { return HasCallWith("NotifyRegistrationStatus", text); }))
        << text;
  }
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 0);
  EXPECT_THAT(kubelet_.WatchedPlugins(), IsEmpty());
}

TEST_F(WatcherTest, FailingOptionsAreReportedToThePlugin) {
  const SamplePlugin plugin(Registrar(), {.get_options = [] { return Internal("out of order"); }});
  EXPECT_TRUE(kubelet_.WaitFor([&] {
    return HasCallWith("NotifyRegistrationStatus", "failed to get device plugin options");
  }));
}

TEST_F(WatcherTest, ADraPluginIsNotAskedAsADevicePlugin) {
  SamplePlugin::Options options = Registrar();
  options.type = "DRAPlugin";
  options.resource = "gpu.example.com";
  options.versions = {"v1.DRAPlugin"};
  const SamplePlugin plugin(options);
  EXPECT_TRUE(kubelet_.WaitForCalls("NotifyRegistrationStatus", 1));
  EXPECT_TRUE(kubelet_.WaitFor([&] { return kubelet_.WatchedPlugins().size() == 1; }));
  EXPECT_EQ(kubelet_.WatchedPlugins().at(0).info.type, "DRAPlugin");
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 0);
}

TEST_F(WatcherTest, AStaleSocketIsTriedForEver) {
  auto plugin = std::make_unique<SamplePlugin>(Registrar("other.sock"));
  std::filesystem::create_hard_link(Folder() + "/other.sock", dir_.At("keep"));
  plugin.reset();
  std::filesystem::rename(dir_.At("keep"), Folder() + "/stale.sock");
  EXPECT_FALSE(
      kubelet_.WaitForCalls("NotifyRegistrationStatus", 100, std::chrono::milliseconds(50)));
  const SamplePlugin real(Registrar());
  EXPECT_TRUE(WaitForWidgets(2, 2));
}

TEST_F(WatcherTest, AKubeletThatDoesNotLookFindsNothing) {
  kubelet_.Inject(kWatcherPoint, {.kind = FaultKind::kSkip});
  const SamplePlugin plugin(Registrar());
  EXPECT_FALSE(kubelet_.WaitForCalls("GetInfo", 1, std::chrono::milliseconds(50)));
  kubelet_.ClearFaults();
  EXPECT_TRUE(WaitForWidgets(2, 2));
}

}  // namespace
}  // namespace kgpu::kubelet
