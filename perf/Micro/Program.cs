using BenchmarkDotNet.Running;

// `dotnet run -c Release --project perf/Micro -- --filter '*Record*'`; `--list flat` names the cases.
BenchmarkSwitcher.FromAssembly(typeof(EQueue.Micro.RecordEncode).Assembly).Run(args);
