using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;

// `dotnet run -c Release --project perf/Micro -- --filter '*Record*'`; `--list flat` names the cases. Ends with 1 when
// one of the cases asked for gave no figure. What BenchmarkDotNet builds is all of src: two minutes may not do.
ManualConfig config = ManualConfig.Create(DefaultConfig.Instance).WithBuildTimeout(TimeSpan.FromMinutes(15));
IEnumerable<Summary> summaries = BenchmarkSwitcher.FromAssembly(typeof(EQueue.Micro.RecordEncode).Assembly).Run(args, config);
return summaries.All(summary => !summary.HasCriticalValidationErrors && summary.Reports.All(report => report.Success))
    ? 0
    : 1;
