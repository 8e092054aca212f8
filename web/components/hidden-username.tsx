/** Tells a password manager which user a password belongs to. Users do not see it. */
export const HiddenUsername = ({ username }: { username: string }) => (
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
