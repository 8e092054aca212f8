/** Tells a password manager whose password this is. Nobody else sees it. */
export const UsernameForManagers = ({ username }: { username: string }) => (
  <input
    class="visually-hidden"
    type="text"
    name="username"
    autocomplete="username"
    value={username}
    readOnly
    tabIndex={-1}
    aria-hidden="true"
  />
)
