// Linear() on every ISA against the reference loops.
#include <algorithm>
#include <array>

#include "base/cpu.h"
#include "kernels/registry.h"
#include "kernels/test_support.h"

namespace saccade {
namespace {

using testing::kEpsBf16;
using testing::kEpsF32;
using testing::Machine;
using testing::Norm;
using testing::OwnedMatrix;
using testing::RandomFloats;

constexpr std::array kTypes = {WeightType::kF32, WeightType::kBf16, WeightType::kInt8, WeightType::kInt4};
constexpr std::array<int64_t, 9> kOutputs = {1, 3, 15, 16, 17, 31, 33, 100, 269};
constexpr std::array<int64_t, 12> kInputs = {1, 2, 3, 17, 63, 64, 65, 100, 127, 130, 269, 576};
constexpr std::array<int64_t, 14> kRows = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 18, 25, 31, 40};
constexpr std::array kEpilogues = {Epilogue::kNone, Epilogue::kGeluTanh, Epilogue::kGeluErf, Epilogue::kAdd};

// One product with padded strides and data that starts off any vector boundary.
struct Problem {
  Problem(int64_t rows_, int64_t n_, int64_t k_, uint32_t seed)
      : rows(rows_),
        n(n_),
        k(k_),
        x_stride(k_ + 3),
        out_stride(n_ + 5),
        x(RandomFloats(rows_ * x_stride + 1, seed)),
        w(RandomFloats(n_ * k_, seed + 1)),
        up(RandomFloats(n_ * k_, seed + 2)),
        bias(RandomFloats(2 * n_, seed + 3)),
        before(RandomFloats(rows_ * out_stride + 1, seed + 4)) {}

  std::vector<float> Run(KernelContext& context, const PackedMatrix& matrix, Epilogue epilogue,
                         bool with_bias) const {
    std::vector<float> out = before;
    Linear(context, x.data() + 1, rows, x_stride, matrix, with_bias ? bias.data() : nullptr, epilogue,
           out.data() + 1, out_stride);
    return out;
  }
  std::span<const float> Row(int64_t row) const {
    return std::span(x).subspan(static_cast<size_t>(1 + row * x_stride), static_cast<size_t>(k));
  }

  int64_t rows, n, k, x_stride, out_stride;
  std::vector<float> x, w, up, bias, before;
};

// Rounding error of one output of size about |x| |w|: sqrt(k) partial sums, a few more roundings after them.
double Tolerance(const Problem& problem, int64_t row, double w_norm, double epsilon) {
  return epsilon * (8.0 + std::sqrt(static_cast<double>(problem.k))) *
         (Norm(problem.Row(row)) * w_norm + 4.0);
}

// Norm of the longest row of w, quantisation included.
double LargestRowNorm(const std::vector<float>& w, int64_t n, int64_t k) {
  double largest = 0.0;
  for (int64_t row = 0; row < n; ++row) {
    largest =
        std::max(largest, Norm(std::span(w).subspan(static_cast<size_t>(row * k), static_cast<size_t>(k))));
  }
  return 1.1 * largest;
}

void ExpectNear(const Problem& problem, const std::vector<float>& actual, const std::vector<float>& expected,
                double w_norm, double epsilon, double factor) {
  ASSERT_EQ(actual[0], expected[0]);
  for (int64_t row = 0; row < problem.rows; ++row) {
    const double tolerance = factor * Tolerance(problem, row, w_norm, epsilon);
    for (int64_t j = 0; j < problem.out_stride; ++j) {
      const auto i = static_cast<size_t>(1 + row * problem.out_stride + j);
      if (j >= problem.n) {
        ASSERT_EQ(actual[i], problem.before[i]) << "wrote past the columns";
      } else {
        ASSERT_NEAR(actual[i], expected[i], tolerance) << "row " << row << " column " << j;
      }
    }
  }
}

bool RoundsToBf16(Isa isa, WeightType type) {
  return KernelsFor(isa).gemm[static_cast<size_t>(type)].activations == ActivationFormat::kBf16;
}

class LinearTest : public ::testing::TestWithParam<WeightType> {};

TEST_P(LinearTest, MatchesReferenceOnEveryIsa) {
  Machine scalar(Isa::kScalar);
  size_t turn = 0;
  for (int64_t n : kOutputs) {
    for (int64_t k : kInputs) {
      Problem problem(kRows[turn % kRows.size()], n, k, static_cast<uint32_t>(turn));
      const Epilogue epilogue = kEpilogues[turn % kEpilogues.size()];
      const bool with_bias = turn++ % 3 != 0;
      testing::RoundAllToBf16(problem.x);  // so that a bf16 dot product loses nothing
      const OwnedMatrix weight(scalar.context, GetParam(), problem.w, n, k);
      const std::vector<float> expected = problem.Run(scalar.context, weight.matrix, epilogue, with_bias);
      const double w_norm = LargestRowNorm(problem.w, n, k);
      for (Isa isa : UsableIsas()) {
        SCOPED_TRACE(::testing::Message() << IsaName(isa) << " " << problem.rows << "x" << n << "x" << k);
        Machine machine(isa, 2);
        const std::vector<float> actual = problem.Run(machine.context, weight.matrix, epilogue, with_bias);
        ExpectNear(problem, actual, expected, w_norm, kEpsF32, 1.2);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(LinearTest, EveryRowCountMatchesReference) {
  Machine scalar(Isa::kScalar);
  for (int64_t rows = 1; rows <= 40; ++rows) {
    Problem problem(rows, 48, 200, static_cast<uint32_t>(rows));
    testing::RoundAllToBf16(problem.x);
    const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 48, 200);
    const std::vector<float> expected = problem.Run(scalar.context, weight.matrix, Epilogue::kNone, true);
    for (Isa isa : UsableIsas()) {
      SCOPED_TRACE(::testing::Message() << IsaName(isa) << " rows " << rows);
      Machine machine(isa);
      const std::vector<float> actual = problem.Run(machine.context, weight.matrix, Epilogue::kNone, true);
      ExpectNear(problem, actual, expected, LargestRowNorm(problem.w, 48, 200), kEpsF32, 1.0);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(LinearTest, SwiGluMatchesReferenceOnEveryIsa) {
  Machine scalar(Isa::kScalar);
  size_t turn = 0;
  for (int64_t n : {int64_t{1}, int64_t{17}, int64_t{33}, int64_t{100}}) {
    for (int64_t k : {int64_t{3}, int64_t{64}, int64_t{130}}) {
      Problem problem(kRows[turn % kRows.size()], n, k, static_cast<uint32_t>(100 + turn));
      testing::RoundAllToBf16(problem.x);
      const bool with_bias = turn++ % 2 == 0;
      const OwnedMatrix weight(scalar.context, GetParam(), problem.w, problem.up, n, k);
      const std::vector<float> expected =
          problem.Run(scalar.context, weight.matrix, Epilogue::kSwiGlu, with_bias);
      const double gate = LargestRowNorm(problem.w, n, k), up = LargestRowNorm(problem.up, n, k);
      for (Isa isa : UsableIsas()) {
        SCOPED_TRACE(::testing::Message() << IsaName(isa) << " " << problem.rows << "x" << n << "x" << k);
        Machine machine(isa, 3);
        const std::vector<float> actual =
            problem.Run(machine.context, weight.matrix, Epilogue::kSwiGlu, with_bias);
        // Either factor is at most |x| |w| + |bias|, and its error is the tolerance of a plain product.
        double largest_x = 0.0;
        for (int64_t row = 0; row < problem.rows; ++row)
          largest_x = std::max(largest_x, Norm(problem.Row(row)));
        ExpectNear(problem, actual, expected, gate, kEpsF32, 2.2 * (largest_x * up + 4.0));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(LinearTest, UnroundedActivationsStayWithinTheirType) {
  Machine scalar(Isa::kScalar);
  const Problem problem(29, 100, 269, 7);
  const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 100, 269);
  const std::vector<float> expected = problem.Run(scalar.context, weight.matrix, Epilogue::kNone, true);
  for (Isa isa : UsableIsas()) {
    SCOPED_TRACE(IsaName(isa));
    Machine machine(isa, 2);
    const double epsilon = RoundsToBf16(isa, GetParam()) ? kEpsBf16 : kEpsF32;
    const std::vector<float> actual = problem.Run(machine.context, weight.matrix, Epilogue::kNone, true);
    // Independent roundings of the k activations add up as their root mean square: sqrt(k) is not needed, 6
    // sigma is.
    const double factor = epsilon == kEpsBf16 ? 6.0 / (8.0 + std::sqrt(269.0)) : 1.0;
    ExpectNear(problem, actual, expected, LargestRowNorm(problem.w, 100, 269), epsilon, factor);
  }
}

TEST_P(LinearTest, SeveralPassesAndRowBlocksMatchReference) {
  Machine scalar(Isa::kScalar, 2);
  Problem problem(3100, 40, 1088, 9);
  testing::RoundAllToBf16(problem.x);
  const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 40, 1088);
  const std::vector<float> expected = problem.Run(scalar.context, weight.matrix, Epilogue::kNone, true);
  for (Isa isa : UsableIsas()) {
    if (isa == Isa::kScalar) continue;
    SCOPED_TRACE(IsaName(isa));
    Machine machine(isa, 2);
    const std::vector<float> actual = problem.Run(machine.context, weight.matrix, Epilogue::kNone, true);
    ExpectNear(problem, actual, expected, LargestRowNorm(problem.w, 40, 1088), kEpsF32, 1.0);
    EXPECT_LT(machine.context.scratch_bytes(), size_t{24} << 20);
  }
}

TEST_P(LinearTest, ThreadCountDoesNotChangeABit) {
  Machine scalar(Isa::kScalar);
  for (int64_t rows : {int64_t{1}, int64_t{7}, int64_t{75}}) {
    const Problem problem(rows, 300, 320, static_cast<uint32_t>(rows));
    const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 300, 320);
    for (Isa isa : UsableIsas()) {
      Machine one(isa, 1);
      const std::vector<float> expected = problem.Run(one.context, weight.matrix, Epilogue::kAdd, true);
      for (int threads = 2; threads <= 4; ++threads) {
        Machine many(isa, threads);
        ASSERT_EQ(problem.Run(many.context, weight.matrix, Epilogue::kAdd, true), expected) << IsaName(isa);
      }
    }
  }
}

TEST_P(LinearTest, OtherRowsDoNotChangeABit) {
  Machine scalar(Isa::kScalar);
  const Problem problem(75, 100, 576, 2);
  const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 100, 576);
  for (Isa isa : UsableIsas()) {
    Machine machine(isa, 2);
    const std::vector<float> all = problem.Run(machine.context, weight.matrix, Epilogue::kNone, true);
    for (int64_t row : {int64_t{0}, int64_t{30}, int64_t{74}}) {
      std::vector<float> alone(100);
      Linear(machine.context, problem.Row(row).data(), 1, problem.k, weight.matrix, problem.bias.data(),
             Epilogue::kNone, alone.data(), 100);
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + 1 + row * problem.out_stride))
          << IsaName(isa);
    }
  }
}

TEST_P(LinearTest, BrokenRowsGiveNanAndLeaveOthersAlone) {
  Machine scalar(Isa::kScalar);
  for (float broken : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Problem problem(9, 40, 130, 3);
    for (float& value : problem.w) value = std::abs(value) + 0.1F;  // no zero weight may hide an infinity
    problem.x[static_cast<size_t>(1 + 4 * problem.x_stride + 70)] = broken;
    const OwnedMatrix weight(scalar.context, GetParam(), problem.w, 40, 130);
    for (Isa isa : UsableIsas()) {
      Machine machine(isa);
      const std::vector<float> out = problem.Run(machine.context, weight.matrix, Epilogue::kNone, false);
      for (int64_t row = 0; row < problem.rows; ++row) {
        for (int64_t j = 0; j < problem.n; ++j) {
          const float value = out[static_cast<size_t>(1 + row * problem.out_stride + j)];
          ASSERT_EQ(std::isfinite(value), row != 4) << IsaName(isa) << " row " << row;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LinearTest, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(WeightTypeName(info.param)); });

}  // namespace
}  // namespace saccade
