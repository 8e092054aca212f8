import { useState } from 'preact/hooks'
import type { Factors, Session } from '#contract/schemas.js'
import { siteStorage } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { counted, fill } from '../words/format.js'

const closedKey = 'latchkey.used-recovery-code'

/** As many are made at a time: while none is used, the user has made new ones. */
const recoveryCodeCount = 10

type Props = { sessions: Session[] | undefined; factors: Factors | undefined; onReplaceApp: () => Promise<void> }

/** After a sign-in with a recovery code, until it is closed, the app is set up again, or there are new codes. */
export const UsedRecoveryCode = ({ sessions, factors, onReplaceApp }: Props) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  const [closed, setClosed] = useState(() => siteStorage.read(closedKey))
  const session = sessions?.find(({ current }) => current)
  const left = factors?.recoveryCodes.left ?? 0
  const thisUse = `${session?.id} ${left}`
  if (!factors?.totp || !session?.methods.includes('rec') || left === recoveryCodeCount || closed === thisUse)
    return null
  if (new Date(factors.totp.createdAt) > new Date(session.createdAt)) return null
  const close = () => {
    siteStorage.write(closedKey, thisUse)
    setClosed(thisUse)
  }
  const goOn = (
    <div class="button-row">
      <Button onPress={onReplaceApp}>{words.replaceApp}</Button>
      <a class="button quiet" href="#two-step">
        {words.title}
      </a>
    </div>
  )
  return (
    <div class="used-recovery-code">
      <Notice kind="info" after={goOn} onClose={close}>
        {`${fill(words.usedCode, { left: counted(words.codesLeft, left, locale) })} ${words.newPhone}`}
      </Notice>
    </div>
  )
}
