import { fieldsTypedBefore } from '../browser/typed-values.js'
import { useSettings } from '../hooks/settings.js'
import type { Values } from './form.js'
import { ProfileFieldInputs, typedFields } from './profile-fields.js'
import { TermsCheck } from './terms-check.js'

/** The questions of the operator to new users: fields, and agreement to the terms. */
export const RegistrationQuestions = () => {
  const { registrationFields, terms } = useSettings()
  return (
    <>
      <ProfileFieldInputs definitions={registrationFields} values={fieldsTypedBefore()} />
      {terms && <TermsCheck terms={terms} />}
    </>
  )
}

export const useRegistrationAnswers = () => {
  const { registrationFields } = useSettings()
  return (values: Values) => ({
    ...(registrationFields.length > 0 && { fields: typedFields(values, registrationFields) }),
    ...(values.terms !== undefined && { terms: values.terms }),
  })
}
