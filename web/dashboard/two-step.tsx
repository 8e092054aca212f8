import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { Factors, RecoveryCodes as RecoveryCodesBody, TotpBegun } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { ContinuesTo, returnToApplication, waitingApplication } from '../components/from-application.js'
import { Notice } from '../components/notice.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { AddApp, RecoveryCodes, useAppLead, useAppProblems } from '../sign-in/two-step.js'
import { fullDate } from '../words/dates.js'
import { countText, fill } from '../words/format.js'
import { AskFirst, useDashboardActions, useFormProblems } from './panels.js'
import { AccountPanel, goToPlace } from './sections.js'

type Props = { factors: Factors; username: string; replacement: AppReplacement }
type Codes = { codes: string[]; isRenewed?: boolean }

/** The steps of the panel: an app that is being set up, then its recovery codes. */
const useSetup = () => {
  const actions = useDashboardActions()
  const [totp, setTotp] = useState<TotpBegun>()
  const [codes, setCodes] = useState<Codes>()
  const begin = async () => {
    const answer = await actions.withFreshSignIn(client.beginTotp)
    if (answer.refused) actions.showRefusal(answer)
    else setTotp(answer.value)
  }
  const afterChange = async (newCodes?: Codes) => {
    setTotp(undefined)
    setCodes(newCodes)
    await actions.reload()
  }
  return { totp, codes, begin, afterChange, cancel: () => setTotp(undefined), closeCodes: () => setCodes(undefined) }
}

/** The panel of two-step sign-in: switches it on and off, replaces the app, makes new recovery codes, and says how many are left. */
export const TwoStepPanel = ({ factors, username, replacement }: Props) => {
  const words = useWords('two-step')
  const { showSuccess } = useDashboardActions()
  const state = useTwoStepState(factors)
  const appLead = useAppLead()
  const { totp, codes, begin, afterChange, cancel, closeCodes } = useSetup()

  if (codes) {
    return (
      <AccountPanel place="two-step" title={words.savedHeading} step="codes">
        <ContinuesTo returnTo={waitingApplication()?.returnTo} />
        <RecoveryCodes {...codes} username={username} onDone={() => returnToApplication() || closeCodes()} />
      </AccountPanel>
    )
  }
  if (totp) {
    const askForNewCodes = async () => {
      showSuccess(words.codesNotShown)
      await afterChange()
    }
    const showCodes = ({ recoveryCodes }: RecoveryCodesBody) => afterChange({ codes: recoveryCodes })
    return (
      <AccountPanel place="two-step" title={words.title} lead={appLead} step="app">
        <ContinuesTo returnTo={waitingApplication()?.returnTo} />
        <AddAppInPanel
          totp={totp}
          confirm={client.confirmTotp}
          onAdded={showCodes}
          onAlreadyOn={askForNewCodes}
          onCancel={cancel}
        />
      </AccountPanel>
    )
  }
  if (factors.totp && replacement.totp) {
    const { totp: newTotp, end } = replacement
    const finishReplacement = async () => {
      showSuccess(words.appReplaced)
      end()
      await afterChange()
    }
    return (
      <AccountPanel place="two-step" title={words.replaceApp} lead={`${words.replaceLead} ${appLead}`} step="other app">
        <AddAppInPanel totp={newTotp} confirm={client.confirmNewTotp} onAdded={finishReplacement} onCancel={end} />
      </AccountPanel>
    )
  }
  const lead = factors.totp ? undefined : words.offLead
  return (
    <AccountPanel place="two-step" title={words.title} state={state} lead={lead} step={factors.totp ? 'on' : 'off'}>
      <WaitingApplication factors={factors} />
      {factors.totp ? (
        <SwitchedOn factors={factors} onReplace={replacement.begin} onChanged={afterChange} />
      ) : (
        <Button onPress={begin}>{words.switchOn}</Button>
      )}
    </AccountPanel>
  )
}

const useTwoStepState = ({ totp, recoveryCodes }: Factors) => {
  const words = useWords('two-step')
  const { locale } = useSettings()
  if (!totp) return { text: words.isOff, look: 'off' as const }
  const facts = [
    fill(words.onSince, { date: fullDate(totp.createdAt, locale) }),
    countText(words.codesLeft, recoveryCodes.left, locale),
  ]
  return { text: facts.join(' · '), look: 'on' as const }
}

/** Says why an application has sent the user here, and shows the way back to it. */
const WaitingApplication = ({ factors }: Pick<Props, 'factors'>) => {
  const words = useWords('two-step')
  const waiting = waitingApplication()
  if (!waiting) return null
  const application = waiting.name
  const hasFactor = factors.totp !== null || factors.passkeys.length > 0
  const back = (
    <a class="button" href={waiting.returnTo}>
      {fill(words.backToApplication, { application })}
    </a>
  )
  return (
    <Notice kind={hasFactor ? 'success' : 'info'} after={back}>
      {fill(hasFactor ? words.addedForApplication : words.neededByApplication, { application })}
    </Notice>
  )
}

type AddingProps<Added> = {
  totp: TotpBegun
  confirm: (proof: { code: string }) => Promise<Answer<Added>>
  onAdded: (added: Added) => Promise<void>
  onAlreadyOn?: () => Promise<void>
  onCancel: () => void
}

const AddAppInPanel = <Added,>({ totp, confirm, onAdded, onAlreadyOn, onCancel }: AddingProps<Added>) => {
  const { cancel } = useWords('dashboard')
  const { withFreshSignIn } = useDashboardActions()
  const problemsOf = useFormProblems(useAppProblems())
  return (
    <>
      <AddApp
        totp={totp}
        confirm={(proof) => withFreshSignIn(() => confirm(proof))}
        onAdded={onAdded}
        {...(onAlreadyOn && { onAlreadyOn })}
        problemsOf={problemsOf}
      />
      <Button look="quiet" onPress={onCancel}>
        {cancel}
      </Button>
    </>
  )
}

type OnProps = Pick<Props, 'factors'> & {
  onReplace: () => Promise<void>
  onChanged: (newCodes?: Codes) => Promise<void>
}

const SwitchedOn = ({ factors, onReplace, onChanged }: OnProps) => {
  const words = useWords('two-step')
  const { secondFactor } = useSettings()
  const isNeeded = secondFactor === 'required' && factors.passkeys.length === 0
  return (
    <>
      <Button onPress={onReplace}>{words.replaceApp}</Button>
      <NewCodes onChanged={onChanged} />
      {isNeeded ? <p class="panel-lead">{words.needed}</p> : <SwitchOff onChanged={onChanged} />}
    </>
  )
}

/** Asks for a second press, because the codes that the user has saved stop working. */
const NewCodes = ({ onChanged }: Pick<OnProps, 'onChanged'>) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const renew = async () => {
    const answer = await actions.withFreshSignIn(client.renewRecoveryCodes)
    if (answer.refused) actions.showRefusal(answer)
    else await onChanged({ codes: answer.value.recoveryCodes, isRenewed: true })
  }
  return (
    <AskFirst label={words.newCodes} question={words.newCodesAsk} confirmLabel={words.newCodesSure} onConfirm={renew} />
  )
}

/** Asks for a second press, because the account is less safe afterwards. */
const SwitchOff = ({ onChanged }: Pick<OnProps, 'onChanged'>) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const remove = async () => {
    const answer = await actions.withFreshSignIn(client.removeTotp)
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(words.switchedOff)
    await onChanged()
  }
  return (
    <AskFirst
      label={words.switchOff}
      look="quiet"
      question={words.switchOffAsk}
      confirmLabel={words.switchOffSure}
      onConfirm={remove}
    />
  )
}

export type AppReplacement = ReturnType<typeof useAppReplacement>

/**
 * Sets up the authenticator app again. The user can begin at several places of the page, and continues in the panel of two-step
 * sign-in.
 */
export const useAppReplacement = () => {
  const actions = useDashboardActions()
  const [totp, setTotp] = useState<TotpBegun>()
  const begin = async () => {
    // The user may already have scanned the QR code on the page. A new one would make it useless.
    if (totp) return goToPlace('#two-step')
    const answer = await actions.withFreshSignIn(client.beginNewTotp)
    if (answer.refused) return actions.showRefusal(answer)
    setTotp(answer.value)
    goToPlace('#two-step')
  }
  return { totp, begin, end: () => setTotp(undefined) }
}
