using EQueue.Load;
using EQueue.Load.Roles;

// "role NAME" is how the load program starts itself again as one of its own processes; it is no command for people.
return args is ["role", var role]
    ? await RoleHost.RunAsync(role)
    : await LoadCommand.RunAsync(args);
