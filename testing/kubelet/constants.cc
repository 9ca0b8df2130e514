#include "testing/kubelet/constants.h"

#include <algorithm>

namespace kgpu::kubelet {
namespace {

nanoseconds Times(nanoseconds time, double factor) {
  return nanoseconds(static_cast<int64_t>(static_cast<double>(time.count()) * factor));
}

}  // namespace

Constants Scaled(double factor) {
  Constants constants;
  constexpr nanoseconds kLeastLimit = std::chrono::seconds(1);
  for (nanoseconds Constants::* limit :
       {&Constants::dial_limit, &Constants::get_info_limit, &Constants::notify_limit,
        &Constants::pre_start_limit, &Constants::claim_limit, &Constants::health_timeout,
        &Constants::wipe_delay}) {
    constants.*limit = std::max(Times(constants.*limit, factor), kLeastLimit);
  }
  for (nanoseconds Constants::* time :
       {&Constants::dial_retry, &Constants::reconcile_period, &Constants::retry_first,
        &Constants::retry_longest, &Constants::stop_grace, &Constants::node_status_period,
        &Constants::pod_sync_period, &Constants::sync_retry, &Constants::restart_first,
        &Constants::restart_longest, &Constants::restart_reset, &Constants::reconnect_first,
        &Constants::reconnect_longest, &Constants::health_retry, &Constants::claims_period,
        &Constants::termination_grace}) {
    constants.*time = Times(constants.*time, factor);
  }
  return constants;
}

}  // namespace kgpu::kubelet
