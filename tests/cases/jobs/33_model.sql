-- expect: FD316 FD517
CREATE MODEL sentiment INPUT (text STRING) OUTPUT (label STRING) WITH ('provider' = 'openai', 'endpoint' = 'https://x', 'api-key' = 'k');
CREATE TABLE reviews (id INT, text STRING) WITH ('connector' = 'datagen');
SELECT id, label FROM ML_PREDICT(TABLE reviews, MODEL sentiment, DESCRIPTOR(text));
