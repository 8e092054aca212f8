import { useState } from 'preact/hooks'
import type { Factors, Session } from '#contract/schemas.js'
import { siteStorage } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { countText, fill } from '../words/format.js'

const closedKey = 'latchkey.used-recovery-code'

/** So many codes are made at a time. If all of them are left, the user has made new ones since. */
const recoveryCodeCount = 10

type Props = { sessions: Session[] | undefined; factors: Factors | undefined; onReplaceApp: () => Promise<void> }

/** A notice after a sign-in with a recovery code. It stays until the user closes it, sets up the app again or makes new codes. */
export const UsedRecoveryCode = ({ sessions, factors, onReplaceApp }: Props) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  const [closedUse, setClosedUse] = useState(() => siteStorage.read(closedKey))
  const session = sessions?.find(({ current }) => current)
  const left = factors?.recoveryCodes.left ?? 0
  const thisUse = `${session?.id} ${left}`
  if (!factors?.totp || !session?.methods.includes('rec') || left === recoveryCodeCount || closedUse === thisUse)
    return null
  if (new Date(factors.totp.createdAt) > new Date(session.createdAt)) return null
  const close = () => {
    siteStorage.write(closedKey, thisUse)
    setClosedUse(thisUse)
  }
  const actions = (
    <div class="button-row">
      <Button onPress={onReplaceApp}>{words.replaceApp}</Button>
      <a class="button quiet" href="#two-step">
        {words.title}
      </a>
    </div>
  )
  return (
    <div class="used-recovery-code">
      <Notice kind="info" after={actions} onClose={close}>
        {`${fill(words.usedCode, { left: countText(words.codesLeft, left, locale) })} ${words.newPhone}`}
      </Notice>
    </div>
  )
}
