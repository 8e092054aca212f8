import { useState } from 'preact/hooks'
import type { Factors, Session } from '#contract/schemas.js'
import { siteStorage } from '../browser/storage.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { counted, fill } from '../words/format.js'

const closedKey = 'latchkey.used-recovery-code'

type Props = { sessions: Session[] | undefined; factors: Factors | undefined }

/** After a sign-in with a recovery code, until it is closed, the app is set up again, or there are new codes. */
export const UsedRecoveryCode = ({ sessions, factors }: Props) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  const [closed, setClosed] = useState(() => siteStorage.read(closedKey))
  const session = sessions?.find(({ current }) => current)
  const left = factors?.recoveryCodes.left ?? 0
  const thisUse = `${session?.id} ${left}`
  if (!factors?.totp || !session?.methods.includes('rec') || left === 10 || closed === thisUse) return null
  const close = () => {
    siteStorage.write(closedKey, thisUse)
    setClosed(thisUse)
  }
  const goThere = (
    <a class="button" href="#two-step">
      {words.title}
    </a>
  )
  return (
    <div class="used-recovery-code">
      <Notice kind="info" after={goThere} onClose={close}>
        {`${fill(words.usedCode, { left: counted(words.codesLeft, left, locale) })} ${words.newPhone}`}
      </Notice>
    </div>
  )
}
