import type { AccountEventKind } from '#contract/events.js'
import type { AccountEvent } from '#contract/schemas.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from './format.js'

/** The `ip` of an event that an operator caused with a command, and with `CONFIGURATION_FILE`. */
export const commandLineIp = 'command line'
export const configurationFileIp = 'configuration file'

/** The `ip` of every event that an operator caused; an empty one is of the service itself. */
export const operatorIps = ['', commandLineIp, configurationFileIp]

const warnings: readonly string[] = [
  'sign_in_failed',
  'second_factor_failed',
  'refresh_theft',
  'device_proof_refused',
  'password_change_failed',
  'email_change_failed',
  'step_up_failed',
  'rate_limited',
] satisfies AccountEventKind[]

export const isWarning = (kind: string) => warnings.includes(kind)

/** Returns a function that gives the title of an event, with the name of its provider. */
export const useEventTitle = () => {
  const { kinds } = useWords('dashboard')
  const { providers } = useSettings()
  return ({ kind, reason }: Pick<AccountEvent, 'kind' | 'reason'>) => {
    const provider = providers.find(({ id }) => id === reason)?.name
    if (kind === 'signed_in' && provider !== undefined) return fill(kinds.signed_in_with, { provider })
    return fill(kinds[kind], {
      provider: provider ?? reason ?? '',
      // Behind the groups of an invitation stands who has made it.
      groups: (reason?.split(' ')[0] ?? '').replaceAll(',', ', '),
      application: reason ?? '',
      name: reason ?? '',
    })
  }
}
