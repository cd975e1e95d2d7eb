#pragma once

namespace dlcost {

// Devices of one type are not equally fast: the standard deviation of their speeds, over the mean.
// Sinha et al., "Not All GPUs Are Created Equal", SC 2022: on five clusters of V100, MI60 and RTX
// 5000 the ends of the whiskers of SGEMM and ResNet-50 are 8 % of the median apart; those of a
// normal distribution are 5.4 standard deviations apart.
inline constexpr double kDeviceSpread = 0.015;

// The time of the slowest of `devices` over the mean, of normally distributed times: all wait for
// it where they exchange something in every step. Blom's approximation of the largest of a sample,
// 1 + spread * quantile((n - 0.375) / (n + 0.25)); 1 for one device.
double SlowestOf(int devices, double spread);

}  // namespace dlcost
