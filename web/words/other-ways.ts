import type { Problems } from '../components/form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable-callback.js'
import { passkeySupport } from '../passkeys/ceremonies.js'
import { fill } from './format.js'

/**
 * Adds a sentence to the notice about a limit, about the ways in that a limit of passwords or of mails does not stop. It is the same for every account: which of them
 * an account has is not told.
 */
export const useWithOtherWays = () => {
  const { otherWays: words } = useWords('common')
  const { providers, locale } = useSettings()
  const anyOf = (list: string[]) => new Intl.ListFormat(locale, { type: 'disjunction' }).format(list)
  const withWays = (problems: Problems, { reset }: { reset: boolean }): Problems => {
    const ways = [
      ...(passkeySupport() === 'yes' ? [words.passkey] : []),
      ...(providers.length > 0 ? [fill(words.provider, { provider: anyOf(providers.map(({ name }) => name)) })] : []),
      ...(reset ? [words.reset] : []),
    ]
    if (ways.length === 0) return problems
    return { ...problems, notice: `${problems.notice ?? ''} ${fill(words.sentence, { ways: anyOf(ways) })}` }
  }
  const newest = useStableCallback(withWays)
  return (problems: Problems, options: { reset: boolean }): Problems => {
    const { translate } = problems
    return { ...withWays(problems, options), ...(translate && { translate: () => newest(translate(), options) }) }
  }
}
