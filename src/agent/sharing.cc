#include "src/agent/sharing.h"

#include <utility>

#include "src/agent/lend_rules.h"

namespace kgpu::agent {

Sharing::Sharing(EventLoop& loop, const sys::Root& host, const pods::Background& background,
                 share::SliceFilesOptions options, Sources sources)
    : loop_(loop),
      sources_(std::move(sources)),
      slices_(loop, background, options, sources_.changed),
      compute_(background, std::move(options.folder), sources_.paced),
      watch_(background,
             {.notify = sources_.notify,
              .kill = [&host](const share::SliceUse& use) { return KillInPod(host, use); },
              .evict = sources_.evict}),
      changes_(loop, {.obstacle =
                          [this](const std::string& device, SteadyTime since) {
                            const pods::PodMapPtr pods = sources_.pods();
                            return PodObstacleTo(device, since,
                                                 {.pods = *pods, .list = sources_.pod_list()});
                          },
                      .look_at_pods = sources_.look_at_pods,
                      .again = sources_.again}) {
}

void Sharing::Apply(pools::Assignment& fresh, const pools::Assignment& before) {
  changes_.Apply(fresh, before);
  slices_.Set(share::SlicesOf(fresh));
  compute_.SetAssignment(fresh, changes_.held());
}

void Sharing::OnSample(const pools::Assignment& assignment, const device::Snapshot& snapshot,
                       const device::SampleSet& samples, std::chrono::milliseconds every) {
  const pods::PodMapPtr pods = sources_.pods();
  const share::SliceFacts facts{.assignment = assignment,
                                .held = changes_.held(),
                                .snapshot = snapshot,
                                .samples = samples,
                                .pods = *pods};
  const SteadyTime now = loop_.clock().Now();
  const pods::ListState list = sources_.pod_list();
  compute_.OnSample(facts, list, now);
  watch_.OnSample(facts, list.asked, now, every);
}

}  // namespace kgpu::agent
