import type { ProviderButton } from '#contract/pages.js'
import { useSettings } from '../hooks/settings.js'

const initialOf = (name: string) => Array.from(name)[0]?.toLocaleUpperCase() ?? ''

/** The first letter of the provider, or two letters if another provider begins with the same one, as with Google and GitHub. */
const useInitials = (name: string) => {
  const sameInitial = useSettings().providers.filter((each) => initialOf(each.name) === initialOf(name))
  return sameInitial.length > 1 ? initialOf(name) + (Array.from(name)[1] ?? '') : initialOf(name)
}

/** The logo that the operator has chosen, or the first letter. docs/decisions.md says why no logo comes with the pages. */
export const ProviderLogo = ({ provider: { name, logo } }: { provider: ProviderButton }) => {
  const initials = useInitials(name)
  return logo === undefined ? (
    <span class="provider-initial" aria-hidden="true">
      {initials}
    </span>
  ) : (
    <img class="provider-logo" src={logo} alt="" width="20" height="20" />
  )
}
