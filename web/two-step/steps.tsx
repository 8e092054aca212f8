import { useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import type { TotpBegun } from '#contract/schemas.js'
import { Announced } from '../components/announced.js'
import { Button } from '../components/button.js'
import { CodeField } from '../components/code-field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'

type AddProps<Added> = {
  totp: TotpBegun
  confirm: (proof: { code: string }) => Promise<Answer<Added>>
  onAdded: (added: Added) => void | Promise<void>
  /** What the form shows of a refusal. */
  problemsOf: (refusal: Refusal) => Problems | undefined
}

export const useAppProblems = () => useProblems({ wrong_second_factor: 'code' })

/** Scan or copy the secret, then prove with a code that the app has it. */
export const AddApp = <Added,>({ totp, confirm, onAdded, problemsOf }: AddProps<Added>) => {
  const words = useWords('two-step')

  const submit = async ({ code = '' }: Values): Promise<Problems | undefined> => {
    const answer = await confirm({ code })
    if (answer.refused) return problemsOf(answer)
    await onAdded(answer.value)
    return undefined
  }

  return (
    <>
      <p class="panel-lead">{words.scan}</p>
      <img class="qr-code" src={`data:image/svg+xml,${encodeURIComponent(totp.qr)}`} alt={words.qrAlt} />
      <p class="panel-lead">
        {words.secret} <code class="secret">{totp.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
      </p>
      <p class="panel-lead">
        <a class="button" href={totp.uri}>
          {words.openApp}
        </a>
      </p>
      <Form submitLabel={words.confirm} onSubmit={submit}>
        <CodeField label={words.code} inputMode="numeric" maxLength={12} />
      </Form>
    </>
  )
}

/** What the codes are for, for someone who finds the sheet years later. */
const OnPaper = ({ username }: { username: string }) => {
  const words = useWords('two-step')
  const { productName, locale } = useSettings()
  return (
    <div class="on-paper">
      <p>
        <strong>{fill(words.paperHeading, { product: productName })}</strong>
      </p>
      <p>
        {location.host}: {username}, {fullDate(new Date().toISOString(), locale)}
      </p>
    </div>
  )
}

type CodesProps = { codes: string[]; username: string; isRenewed?: boolean; onDone: () => void }

/** Shown once. On paper they stand alone, under the names of the site and the account. */
export const RecoveryCodes = ({ codes, username, isRenewed = false, onDone }: CodesProps) => {
  const words = useWords('two-step')
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(codes.join('\n')).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <>
      {/* The codes are a list, which the user reads one by one. */}
      <Announced class="panel-lead" text={isRenewed ? words.newCodesLead : words.codesLead} />
      <OnPaper username={username} />
      <ul class="recovery-codes" aria-label={words.codesList}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="button-row">
        <Button onPress={copy}>{copied ? words.copied : words.copy}</Button>
        <Button onPress={() => print()}>{words.print}</Button>
        <Button look="primary" onPress={onDone}>
          {words.saved}
        </Button>
      </div>
    </>
  )
}
