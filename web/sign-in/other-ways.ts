import type { Problems } from '../components/form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { passkeySupport } from './passkeys.js'

/**
 * Adds to the notice about a limit a sentence with the ways to sign in that the limit does not stop. The sentence is the same for every
 * account, so it does not tell which of these ways an account has.
 */
export const useWithOtherWays = () => {
  const { otherWays: words } = useWords('common')
  const { providers, mailSignIn, mailIsOff, locale } = useSettings()
  const anyOf = (list: string[]) => new Intl.ListFormat(locale, { type: 'disjunction' }).format(list)
  const withWays = (problems: Problems, { offersMail }: { offersMail: boolean }): Problems => {
    const ways = [
      ...(passkeySupport() === 'yes' ? [words.passkey] : []),
      ...(providers.length > 0 ? [fill(words.provider, { provider: anyOf(providers.map(({ name }) => name)) })] : []),
      ...(offersMail && mailSignIn ? [words.mailCode] : []),
      ...(offersMail && !mailIsOff ? [words.reset] : []),
    ]
    if (ways.length === 0) return problems
    return { ...problems, notice: `${problems.notice ?? ''} ${fill(words.sentence, { ways: anyOf(ways) })}` }
  }
  const withNewestWords = useStableCallback(withWays)
  return (problems: Problems, options: { offersMail: boolean }): Problems => {
    const { translate } = problems
    return {
      ...withWays(problems, options),
      ...(translate && { translate: () => withNewestWords(translate(), options) }),
    }
  }
}
